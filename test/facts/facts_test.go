package facts

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// objects is how many objects a slow commit brings: about a second's work.
const objects = 150

var world *cluster.World

func TestFacts(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Facts about the real controllers")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	world, err = cluster.Start(context.WithoutCancel(ctx), cluster.Options{Out: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(40*time.Minute)) // a cold build of the control plane is most of it

var _ = AfterSuite(func() {
	if world != nil {
		Expect(world.Stop()).To(Succeed())
	}
})

var _ = Describe("It is a fact that", Label("flux"), func() {
	for i, f := range All() {
		It(f.Name, SpecTimeout(2*time.Minute), func(ctx SpecContext) {
			r, err := furnish(ctx, fmt.Sprintf("fact-%02d", i+1))
			Expect(err).NotTo(HaveOccurred())
			Expect(f.Check(ctx, Look{r})).To(Succeed())
		})
	}
})

// real is a world of real controllers, with a team of its own.
type real struct {
	*scene.Team
	pushed int
}

var _ World = &real{}

func furnish(ctx context.Context, name string) (*real, error) {
	r := &real{}
	var err error
	r.Team, err = scene.New(ctx, world, scene.Options{Name: name, NoHold: true, Files: map[string]string{
		"apps/zz-marker.yaml": marker(name, "0"),
		witness + "/map.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n", witness, name),
	}})
	if err != nil {
		return r, err
	}
	k := &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Key().Namespace, Name: r.witness().Name},
		Spec: kustomizev1.KustomizationSpec{
			Path: "./" + witness, Interval: metav1.Duration{Duration: time.Hour},
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: name},
		},
	}
	return r, r.Client().Create(ctx, k)
}

// witness is the folder of a second Kustomization on the source, which nobody suspends. kustomize-controller reads sources
// from a cache that can be behind: once it has attempted a revision for this one, it knows the revision for the other.
const witness = "witness"

func (r *real) witness() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Key().Namespace, Name: r.Name + "-" + witness}
}

func marker(namespace, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: zz-marker\n  namespace: %s\ndata:\n  rev: %q\n", namespace, value)
}

func (r *real) Client() client.Client     { return r.Team.Client }
func (r *real) Key() types.NamespacedName { return r.FluxName() }

func (r *real) Push(ctx context.Context, c Content) (Pushed, error) {
	r.pushed++
	p := Pushed{Marker: fmt.Sprint(r.pushed)}
	files := map[string]string{"apps/zz-marker.yaml": marker(r.Name, p.Marker)}
	switch c {
	case Slow:
		maps.Copy(files, scene.ConfigMaps(r.Name, objects, p.Marker))
	case Broken:
		files["apps/broken.yaml"] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: broken, namespace: %s}\ndata: {level: [no, text]}\n", r.Name)
	case NeverReady:
		files["apps/web.yaml"] = scene.Web(r.Name)["apps/web.yaml"] // no kubelet runs its pods
	case Quick:
	}
	hash, err := world.Git.Commit(ctx, r.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Push "+p.Marker, files)
	if err != nil {
		return p, err
	}
	p.Revision = "main@sha1:" + hash
	g, err := r.GitRepository(ctx)
	if err != nil {
		return p, err
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.ReconcileRequestAnnotation, "push-"+p.Marker)
	if err := r.Client().Patch(ctx, g, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("fact")); err != nil {
		return p, err
	}
	return p, r.Await(ctx, "kustomize-controller knows what was pushed", func(ctx context.Context) (bool, string, error) {
		k := &kustomizev1.Kustomization{}
		err := r.Client().Get(ctx, r.witness(), k)
		return k.Status.LastAttemptedRevision == p.Revision, k.Status.LastAttemptedRevision, err
	})
}

func (r *real) Placed(ctx context.Context) (string, error) {
	cm := &corev1.ConfigMap{}
	err := r.Client().Get(ctx, r.In("zz-marker"), cm)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return cm.Data["rev"], err
}

func (r *real) KillController(context.Context) error {
	return world.Kill(cluster.KustomizeController)
}

func (r *real) ReviveController(ctx context.Context) error {
	return world.Revive(ctx, cluster.KustomizeController)
}
