package scene

import (
	"context"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// Options say what the team is called and how fast things go.
type Options struct {
	Name    string            // names the namespace, the repository and Flux's objects
	Files   map[string]string // first content of the repository; nil: Web(Name)
	Path    string            // folder of the manifests; "": apps
	Quiet   time.Duration     // quietPeriod of the trigger
	Idle    time.Duration     // idleTimeout of the target
	NoHold  bool              // leave out everything of Holdfast
	NoApply bool              // the GitTarget names no trigger
	Labels  map[string]string // of the Kustomization
}

// Team is one furnished team.
type Team struct {
	Options
	World  *cluster.World
	Client client.Client // as the administrator

	bound time.Duration // of every wait
}

// New furnishes the world for one team and waits until Flux has applied the repository's first commit.
func New(ctx context.Context, w *cluster.World, o Options) (*Team, error) {
	if o.Path == "" {
		o.Path = "apps"
	}
	if o.Files == nil {
		o.Files = Web(o.Name)
	}
	c, err := w.Client(cluster.Admin)
	if err != nil {
		return nil, err
	}
	t := &Team{Options: o, World: w, Client: c, bound: awaitBound}
	if err := w.CreateNamespace(ctx, o.Name); err != nil {
		return nil, err
	}
	if err := w.Git.AddRepo(ctx, o.Name, o.Files); err != nil {
		return nil, err
	}
	if err := t.create(ctx, t.flux()...); err != nil {
		return nil, err
	}
	if err := t.Await(ctx, "Flux applied the first commit", func(ctx context.Context) (bool, string, error) {
		k, err := t.Kustomization(ctx)
		return k.Status.LastAppliedRevision != "", fmt.Sprintf("Ready: %s", readyMessage(k)), err
	}); err != nil {
		return nil, err
	}
	if o.NoHold {
		return t, nil
	}
	return t, t.Furnish(ctx)
}

// Furnish creates everything of Holdfast, for a team made with NoHold.
func (t *Team) Furnish(ctx context.Context) error { return t.create(ctx, t.Holdfast()...) }

// create creates the objects; one that is already there, such as the default KubeProvider, is left as it is.
func (t *Team) create(ctx context.Context, objs ...client.Object) error {
	for _, obj := range objs {
		if err := t.Client.Create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
		}
	}
	return nil
}

// secret holds the Git credentials of user, with the keys Flux and Holdfast both read.
func (t *Team) secret(namespace, name, user string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		StringData: map[string]string{"username": user, "password": t.World.Git.Password(user)},
	}
}

// flux is what a team has before Holdfast comes. The interval is long: an apply in a test is never the interval's.
func (t *Team) flux() []client.Object {
	hour := metav1.Duration{Duration: time.Hour}
	return []client.Object{
		t.secret(cluster.FluxNamespace, t.Name, cluster.GitFlux),
		&sourcev1.GitRepository{
			ObjectMeta: metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: t.Name},
			Spec: sourcev1.GitRepositorySpec{
				URL: t.World.Git.URL(t.Name), Interval: hour, SecretRef: &meta.LocalObjectReference{Name: t.Name},
				Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
			},
		},
		&kustomizev1.Kustomization{
			ObjectMeta: metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: t.Name, Labels: t.Labels},
			Spec: kustomizev1.KustomizationSpec{
				Path: "./" + t.Path, Interval: hour, Prune: true, TargetNamespace: t.Name,
				SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: t.Name},
			},
		},
	}
}

// Holdfast is what makes Holdfast mirror the team's namespace and hold its Kustomization.
func (t *Team) Holdfast() []client.Object {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: t.Name, Name: name} }
	target := &v1alpha1.GitTarget{ObjectMeta: in("web"), Spec: v1alpha1.GitTargetSpec{
		GitProviderRef: v1alpha1.LocalReference{Name: "repo"}, Branch: "main", Path: t.Path,
		Commit: v1alpha1.CommitWindow{IdleTimeout: &metav1.Duration{Duration: t.Idle}},
	}}
	if !t.NoApply {
		target.Spec.ApplyTriggerRef = &v1alpha1.ApplyTriggerReference{Kind: "FluxTrigger", Name: "web"}
	}
	return []client.Object{
		&v1alpha1.KubeProvider{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DefaultKubeProvider}, Spec: v1alpha1.KubeProviderSpec{
			InCluster: true, AllowCrossNamespace: v1alpha1.CrossNamespaceGrants{Appliers: true},
		}},
		t.secret(t.Name, "git", cluster.GitHoldfast),
		&v1alpha1.GitProvider{ObjectMeta: in("repo"), Spec: v1alpha1.GitProviderSpec{
			URL: t.World.Git.URL(t.Name), SecretRef: &v1alpha1.LocalReference{Name: "git"},
		}},
		target,
		&v1alpha1.WatchRule{ObjectMeta: in("web"), Spec: v1alpha1.WatchRuleSpec{
			GitTargetRef: v1alpha1.LocalReference{Name: "web"},
			Rules: []v1alpha1.ResourceRule{
				{APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
				{APIGroups: []string{""}, Resources: []string{"configmaps"}},
			},
		}},
		&v1alpha1.FluxTrigger{ObjectMeta: in("web"), Spec: v1alpha1.FluxTriggerSpec{
			KustomizationRef: v1alpha1.NamespacedReference{Namespace: cluster.FluxNamespace, Name: t.Name},
			QuietPeriod:      &metav1.Duration{Duration: t.Quiet},
		}},
	}
}

// Kustomization reads the team's Kustomization.
func (t *Team) Kustomization(ctx context.Context) (*kustomizev1.Kustomization, error) {
	k := &kustomizev1.Kustomization{}
	return k, t.Client.Get(ctx, t.FluxName(), k)
}

// GitRepository reads the team's GitRepository.
func (t *Team) GitRepository(ctx context.Context) (*sourcev1.GitRepository, error) {
	g := &sourcev1.GitRepository{}
	return g, t.Client.Get(ctx, t.FluxName(), g)
}

// Trigger reads the team's FluxTrigger.
func (t *Team) Trigger(ctx context.Context) (*v1alpha1.FluxTrigger, error) {
	f := &v1alpha1.FluxTrigger{}
	return f, t.Client.Get(ctx, t.In("web"), f)
}

// Target reads the team's GitTarget.
func (t *Team) Target(ctx context.Context) (*v1alpha1.GitTarget, error) {
	g := &v1alpha1.GitTarget{}
	return g, t.Client.Get(ctx, t.In("web"), g)
}

// FluxName names the team's objects of Flux.
func (t *Team) FluxName() types.NamespacedName {
	return types.NamespacedName{Namespace: cluster.FluxNamespace, Name: t.Name}
}

// In names an object in the team's namespace.
func (t *Team) In(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Name, Name: name}
}

func readyMessage(k *kustomizev1.Kustomization) string {
	for _, c := range k.Status.Conditions {
		if c.Type == meta.ReadyCondition {
			return string(c.Status) + " " + c.Reason + " " + c.Message
		}
	}
	return "not there yet"
}
