package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// web names the team's trigger.
func web(t *scene.Team) *v1alpha1.FluxTrigger {
	return &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
}

// patched merges a patch into an object as the administrator; namespace "" is for what has none.
func patched(ctx context.Context, namespace, kind, name, patch string) {
	GinkgoHelper()
	kubectl(ctx, cluster.Admin, "-n", namespace, "patch", kind, name, "--type=merge", "-p", patch)
}

// waits is `kubectl wait` for a condition of the team's trigger.
func waits(ctx context.Context, t *scene.Team, condition string) {
	GinkgoHelper()
	kubectl(ctx, cluster.Admin, "-n", t.Name, "wait", "--for=condition="+condition, "fluxtrigger/web", "--timeout=60s")
}

// untouched says that no holder has written anything to the Kustomization.
func untouched(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	k := kustomization(ctx, t)
	Expect(k.Spec.Suspend).To(BeFalse())
	Expect(k.Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))
	for _, m := range k.ManagedFields {
		Expect(m.Manager).NotTo(Equal(v1alpha1.HolderFieldManager))
	}
}

// ownProvider furnishes the team with a KubeProvider of its own, which admits namespaces by the label team.
func ownProvider(ctx context.Context, t *scene.Team) *v1alpha1.KubeProvider {
	GinkgoHelper()
	var own *v1alpha1.KubeProvider
	kubectl(ctx, cluster.Admin, "label", "namespace", t.Name, "team="+t.Name)
	create(ctx, t, func(objs []client.Object) {
		own = part[*v1alpha1.KubeProvider](objs)
		own.Name = t.Name
		own.Spec.AccessFrom = &v1alpha1.AccessFrom{NamespaceSelectors: []v1alpha1.NamespaceSelector{{MatchLabels: map[string]string{"team": t.Name}}}}
		part[*v1alpha1.GitTarget](objs).Spec.KubeProviderRef.Name = own.Name
		part[*v1alpha1.FluxTrigger](objs).Spec.KubeProviderRef.Name = own.Name
	})
	return own
}

// flaw is one thing that can be wrong with what a trigger rests on.
type flaw struct {
	name    string
	reason  v1alpha1.Reason
	passing bool     // time may heal it: Configured is Unknown, and the trigger is Reconciling instead of Stalled
	says    []string // in the message: what is wrong, and the field that mends it
	make    func()
	mend    func()
}

var _ = Describe("A trigger says what keeps it from holding, and goes on by itself once that is mended:", Label("flux"), func() {
	It("everything an eligibility rests on, taken away from one that holds", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "flaws", NoHold: true, Quiet: time.Hour})
		own := ownProvider(ctx, t)
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		adm, flux := "", cluster.FluxNamespace
		source, err := t.GitRepository(ctx)
		Expect(err).NotTo(HaveOccurred())
		anew := func(o client.Object) {
			GinkgoHelper()
			o.SetResourceVersion("")
			o.SetUID("")
			o.SetFinalizers(nil)
			Expect(t.Client.Create(ctx, o)).To(Succeed())
		}
		gitProvider := part[*v1alpha1.GitProvider](t.Holdfast())

		for _, f := range []flaw{
			{
				name: "its cluster", reason: v1alpha1.ReasonKubeProviderNotFound, says: []string{"spec.kubeProviderRef", own.Name},
				make: func() { kubectl(ctx, cluster.Admin, "delete", "kubeprovider", own.Name) },
				mend: func() { anew(own.DeepCopy()) },
			},
			{
				name: "the admission of its namespace", reason: v1alpha1.ReasonNamespaceNotAuthorized, says: []string{"spec.accessFrom", t.Name},
				make: func() { kubectl(ctx, cluster.Admin, "label", "namespace", t.Name, "team-") },
				mend: func() { kubectl(ctx, cluster.Admin, "label", "namespace", t.Name, "team="+t.Name) },
			},
			{
				name: "the grant for another namespace's Kustomization", reason: v1alpha1.ReasonApplierNamespaceNotAllowed, says: []string{"spec.allowCrossNamespace.appliers", flux},
				make: func() {
					patched(ctx, adm, "kubeprovider", own.Name, `{"spec":{"allowCrossNamespace":{"appliers":false}}}`)
				},
				mend: func() {
					patched(ctx, adm, "kubeprovider", own.Name, `{"spec":{"allowCrossNamespace":{"appliers":true}}}`)
				},
			},
			{
				name: "the source", reason: v1alpha1.ReasonApplierNotFound, says: []string{"spec.sourceRef", "GitRepository " + flux + "/" + t.Name},
				make: func() { kubectl(ctx, cluster.Admin, "-n", flux, "delete", "gitrepository", t.Name) },
				mend: func() { anew(source.DeepCopy()) },
			},
			{
				name: "a source of the right kind", reason: v1alpha1.ReasonUnsupportedSource, says: []string{"spec.sourceRef", "Bucket"},
				make: func() { by(ctx, t, "kustomization", `{"spec":{"sourceRef":{"kind":"Bucket"}}}`) },
				mend: func() { by(ctx, t, "kustomization", `{"spec":{"sourceRef":{"kind":"GitRepository"}}}`) },
			},
			{
				name: "a source that follows a branch", reason: v1alpha1.ReasonUnsupportedSource, says: []string{"spec.ref", "tag"},
				make: func() { by(ctx, t, "gitrepository", `{"spec":{"ref":{"tag":"v1"}}}`) },
				mend: func() { by(ctx, t, "gitrepository", `{"spec":{"ref":{"tag":null}}}`) },
			},
			{
				name: "the branch its GitTarget writes", reason: v1alpha1.ReasonSourceMismatch, says: []string{"GitTarget web", "spec.branch", "follows side"},
				make: func() { by(ctx, t, "gitrepository", `{"spec":{"ref":{"branch":"side"}}}`) },
				mend: func() { by(ctx, t, "gitrepository", `{"spec":{"ref":{"branch":"main"}}}`) },
			},
			{
				name: "the GitProvider of its GitTarget", reason: v1alpha1.ReasonNotBound, passing: true, says: []string{"GitTarget web", "spec.gitProviderRef"},
				make: func() { kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "gitprovider", "repo") },
				mend: func() { anew(gitProvider.DeepCopy()) },
			},
			{
				name: "the right to write its branch", reason: v1alpha1.ReasonNotBound, says: []string{"GitTarget web", "spec.allowedBranches"},
				make: func() { patched(ctx, t.Name, "gitprovider", "repo", `{"spec":{"allowedBranches":["dev"]}}`) },
				mend: func() { patched(ctx, t.Name, "gitprovider", "repo", `{"spec":{"allowedBranches":["main"]}}`) },
			},
		} {
			By(f.name)
			f.make()
			message, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionConfigured, f.reason)
			Expect(err).NotTo(HaveOccurred())
			for _, s := range f.says {
				Expect(message).To(ContainSubstring(s))
			}
			if f.passing {
				waits(ctx, t, "Configured=Unknown")
				waits(ctx, t, "Reconciling")
			} else {
				waits(ctx, t, "Configured=False")
				waits(ctx, t, "Stalled")
			}
			now := trigger(ctx, t)
			Expect(status.IsTrue(now.Status.Conditions, v1alpha1.ConditionReady)).To(BeFalse())
			held := status.Get(now.Status.Conditions, v1alpha1.ConditionHeld)
			Expect(held.Reason).To(Equal(string(v1alpha1.ReasonNotConfigured)))
			Expect(held.Message).To(ContainSubstring("left suspended"))
			Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())

			f.mend()
			Expect(t.AwaitHeld(ctx)).To(Succeed())
			waits(ctx, t, "Configured")
			waits(ctx, t, "Held")
		}
		Expect(trigger(ctx, t).Status.History).To(BeEmpty(), "nothing was applied meanwhile")
	})

	It("one that cannot hold touches nothing", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "flaw-first", NoHold: true, Quiet: time.Hour})
		own := ownProvider(ctx, t)
		kubectl(ctx, cluster.Admin, "label", "namespace", t.Name, "team-")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web")
		again := part[*v1alpha1.FluxTrigger](t.Holdfast())
		again.Spec.KubeProviderRef.Name = own.Name
		Expect(t.Client.Create(ctx, again)).To(Succeed())
		_, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionConfigured, v1alpha1.ReasonNamespaceNotAuthorized)
		Expect(err).NotTo(HaveOccurred())
		untouched(ctx, t)
		Expect(trigger(ctx, t).Finalizers).To(BeEmpty())
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=30s")
	})

	It("of several GitTargets each is named with what is wrong with it, and one that is right is enough", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "flaw-targets", NoHold: true, Quiet: time.Hour})
		create(ctx, t, func(objs []client.Object) { part[*v1alpha1.GitTarget](objs).Spec.GitProviderRef.Name = "absent" })
		for name, branch := range map[string]string{"dev": "dev", "other": "other"} {
			g := part[*v1alpha1.GitTarget](t.Holdfast())
			g.Name, g.Spec.Branch, g.Spec.Path = name, branch, name
			Expect(t.Client.Create(ctx, g)).To(Succeed())
		}
		Expect(t.Await(ctx, "all three are named", func(ctx context.Context) (bool, string, error) {
			c := status.Get(trigger(ctx, t).Status.Conditions, v1alpha1.ConditionConfigured)
			if c == nil {
				return false, "no condition", nil
			}
			all := true
			for _, wrong := range []string{"GitTarget dev writes branch dev", "GitTarget other writes branch other", "GitTarget web names GitProvider absent"} {
				all = all && strings.Contains(c.Message, wrong)
			}
			return all && c.Status == metav1.ConditionUnknown, c.Message, nil
		})).To(Succeed())
		untouched(ctx, t)

		g := part[*v1alpha1.GitTarget](t.Holdfast())
		g.Name, g.Spec.Path = "right", "apps/right"
		Expect(t.Client.Create(ctx, g)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "gittarget", "--all") })
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		Expect(status.Get(trigger(ctx, t).Status.Conditions, v1alpha1.ConditionConfigured).Message).To(And(
			HavePrefix("bound by GitTarget right"), ContainSubstring("GitTarget dev"), ContainSubstring("GitTarget web")))
	})
})

var _ = Describe("A trigger nobody names", Label("flux"), func() {
	It("is Ready and touches nothing, so that a Kustomization that brings it and waits for it ends", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "unnamed", NoHold: true, Quiet: time.Hour, Files: map[string]string{"apps/settings.yaml": scene.Settings("unnamed", "info")}})
		by(ctx, t, "kustomization", `{"spec":{"wait":true,"timeout":"1m"}}`)
		commit, err := world.Git.Commit(ctx, t.Name, "main", bob, "Hold it", map[string]string{"apps/trigger.yaml": fmt.Sprintf(`
apiVersion: holdfast.dev/v1alpha1
kind: FluxTrigger
metadata: {name: web}
spec:
  kustomizationRef: {namespace: %s, name: %s}
  quietPeriod: 1h
`, cluster.FluxNamespace, t.Name)})
		Expect(err).NotTo(HaveOccurred())
		fetched(ctx, t, commit)
		Expect(t.Await(ctx, "Flux has found the trigger healthy", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.Status.LastAppliedRevision == "main@sha1:"+commit, fmt.Sprint(k.Status.Conditions), err
		})).To(Succeed())
		waits(ctx, t, "Ready")
		waits(ctx, t, "Configured=Unknown")
		waits(ctx, t, "Held=False")
		untouched(ctx, t)
		f := trigger(ctx, t)
		Expect(f.Finalizers).To(BeEmpty())
		Expect(status.Get(f.Status.Conditions, v1alpha1.ConditionReady).Reason).To(Equal(string(v1alpha1.ReasonNotReferenced)))

		By("and holds as soon as a GitTarget names it")
		Expect(t.Furnish(ctx)).To(Succeed())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
	})
})

var _ = Describe("A GitTarget says of the trigger it names", Label("flux"), func() {
	It("that there is none, that it is about to be seen, and that it holds", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "names", NoHold: true, Quiet: time.Hour})
		objs := t.Holdfast()
		named := part[*v1alpha1.FluxTrigger](objs)
		for _, o := range objs {
			if o != client.Object(named) {
				Expect(client.IgnoreAlreadyExists(t.Client.Create(ctx, o))).To(Succeed())
			}
		}
		g := &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		message, err := t.AwaitReason(ctx, g, v1alpha1.ConditionApplyTriggerReady, v1alpha1.ReasonApplyTriggerNotFound)
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("web"))
		kubectl(ctx, cluster.Admin, "-n", t.Name, "wait", "--for=condition=ApplyTriggerReady=False", "gittarget/web", "--timeout=30s")
		Expect(t.Client.Create(ctx, named)).To(Succeed())
		kubectl(ctx, cluster.Admin, "-n", t.Name, "wait", "--for=condition=ApplyTriggerReady", "gittarget/web", "--timeout=60s")
		Expect(t.AwaitHeld(ctx)).To(Succeed())

		By("and passes on what the trigger says of itself")
		by(ctx, t, "gitrepository", `{"spec":{"ref":{"branch":"side"}}}`)
		_, err = t.AwaitReason(ctx, g, v1alpha1.ConditionApplyTriggerReady, v1alpha1.ReasonSourceMismatch)
		Expect(err).NotTo(HaveOccurred())
		by(ctx, t, "gitrepository", `{"spec":{"ref":{"branch":"main"}}}`)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "wait", "--for=condition=ApplyTriggerReady", "gittarget/web", "--timeout=60s")
	})
})

// B9
var _ = Describe("A Kustomization that manages what the hold stands on", Label("flux"), func() {
	It("is not held, by name of what that is, until the trigger says that this is meant", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "selfmanaged", NoHold: true, Quiet: time.Hour})
		manages := func(what, manifest string) {
			GinkgoHelper()
			commit, err := world.Git.Commit(ctx, t.Name, "main", bob, "Manage "+what, map[string]string{"apps/own.yaml": manifest})
			Expect(err).NotTo(HaveOccurred())
			fetched(ctx, t, commit)
			Expect(t.Await(ctx, "it is applied", func(ctx context.Context) (bool, string, error) {
				k, err := t.Kustomization(ctx)
				return k.Status.LastAppliedRevision == "main@sha1:"+commit, fmt.Sprint(k.Status.Conditions), err
			})).To(Succeed())
		}
		by(ctx, t, "kustomization", `{"spec":{"targetNamespace":null}}`)
		manages("the controller", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kustomize-controller, namespace: flux-system}
spec:
  replicas: 0
  selector: {matchLabels: {app: kustomize-controller}}
  template: {metadata: {labels: {app: kustomize-controller}}, spec: {containers: [{name: manager, image: registry.example/none}]}}
`)
		Expect(t.Furnish(ctx)).To(Succeed())
		message := refuse(ctx, t, web(t), v1alpha1.ReasonSelfManaged)
		Expect(message).To(And(ContainSubstring("Deployment flux-system/kustomize-controller"), ContainSubstring("spec.selfManaged")))
		untouched(ctx, t)

		By("a kind of Holdfast instead")
		manages("a kind", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: selfmanagedstories.holdfast.dev}
spec:
  group: holdfast.dev
  scope: Namespaced
  names: {kind: SelfManagedStory, plural: selfmanagedstories, singular: selfmanagedstory, listKind: SelfManagedStoryList}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
		Expect(t.Await(ctx, "it is named", func(ctx context.Context) (bool, string, error) {
			c := status.Get(trigger(ctx, t).Status.Conditions, v1alpha1.ConditionConfigured)
			return strings.Contains(c.Message, "CustomResourceDefinition selfmanagedstories.holdfast.dev"), c.Message, nil
		})).To(Succeed())
		untouched(ctx, t)

		patched(ctx, t.Name, "fluxtrigger", "web", `{"spec":{"selfManaged":"Allow"}}`)
		Expect(t.AwaitHeld(ctx)).To(Succeed())

		By("and is left as it is when that is taken back")
		patched(ctx, t.Name, "fluxtrigger", "web", `{"spec":{"selfManaged":"Refuse"}}`)
		refuse(ctx, t, web(t), v1alpha1.ReasonSelfManaged)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())

		By("until it does not manage it any more")
		patched(ctx, t.Name, "fluxtrigger", "web", `{"spec":{"selfManaged":"Allow"}}`)
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		commit, err := world.Git.Commit(ctx, t.Name, "main", bob, "Manage nothing", map[string]string{"apps/own.yaml": "# nothing\n"})
		Expect(err).NotTo(HaveOccurred())
		ask(ctx, t, "r1", commit)
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		patched(ctx, t.Name, "fluxtrigger", "web", `{"spec":{"selfManaged":"Refuse"}}`)
		waits(ctx, t, "Ready")
		Expect(t.AwaitHeld(ctx)).To(Succeed())
	})
})
