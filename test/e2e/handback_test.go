package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

const (
	unname = `{"spec":{"applyTriggerRef":null}}`
	rename = `{"spec":{"applyTriggerRef":{"kind":"FluxTrigger","name":"web"}}}`
)

// without takes a verb on a resource out of the holder's role, until restore or the end of the story. It returns once the
// API server refuses it.
func without(ctx context.Context, t *scene.Team, group, resource, verb string) (restore func()) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	const holder = "holdfast-holder"
	Expect(t.Client.Get(ctx, client.ObjectKey{Name: holder}, role)).To(Succeed())
	whole := role.DeepCopy()
	found := false
	var rules []rbacv1.PolicyRule
	for _, r := range role.Rules {
		if r.APIGroups[0] == group && r.Resources[0] == resource {
			all := len(r.Verbs)
			r.Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return v == verb })
			found = len(r.Verbs) < all
		}
		if len(r.Verbs) > 0 {
			rules = append(rules, r)
		}
	}
	role.Rules = rules
	Expect(found).To(BeTrue(), "the role has it")
	Expect(t.Client.Update(ctx, role)).To(Succeed())
	may := func(ctx context.Context, want bool) {
		GinkgoHelper()
		Expect(t.Await(ctx, fmt.Sprintf("the holder may %s %s: %v", verb, resource, want), func(ctx context.Context) (bool, string, error) {
			out, err := world.Kubectl(ctx, cluster.HolderUser, "auth", "can-i", verb, resource+"."+group, "-A")
			return (err == nil) == want, out, nil
		})).To(Succeed())
	}
	restored := false
	back := func(ctx context.Context) {
		GinkgoHelper()
		if restored {
			return
		}
		restored = true
		now := &rbacv1.ClusterRole{}
		Expect(t.Client.Get(ctx, client.ObjectKey{Name: holder}, now)).To(Succeed())
		now.Rules = whole.Rules
		Expect(t.Client.Update(ctx, now)).To(Succeed())
		may(ctx, true)
	}
	DeferCleanup(func(ctx SpecContext) { back(ctx) })
	may(ctx, false)
	return func() { GinkgoHelper(); back(ctx) }
}

// releasing waits until the trigger has begun to hand back and not ended.
func releasing(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	Expect(t.Await(ctx, "the hand-back has begun", func(ctx context.Context) (bool, string, error) {
		f, err := t.Trigger(ctx)
		return f.Status.ReleasingSince != nil, scene.Say(f), err
	})).To(Succeed())
}

var _ = Describe("A held Kustomization is handed back", Label("flux"), func() {
	It("when the last GitTarget does not name its trigger any more, and is held again when one does", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-name")
		patched(ctx, t.Name, "gittarget", "web", unname)
		handedBack(ctx, t)
		toldOf(ctx, t, v1alpha1.ReasonReleased, "applies on its own again")
		waits(ctx, t, "Configured=Unknown")
		waits(ctx, t, "Ready")
		_, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionHeld, v1alpha1.ReasonNotReferenced)
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Await(ctx, "the trigger may go at once", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			return len(f.Finalizers) == 0, fmt.Sprint(f.Finalizers), err
		})).To(Succeed())

		patched(ctx, t.Name, "gittarget", "web", rename)
		Expect(t.AwaitHeld(ctx)).To(Succeed())
	})

	It("when its GitTarget is deleted", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-target")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "gittarget", "web")
		handedBack(ctx, t)
	})

	It("when its cluster's KubeProvider is gone first", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "back-provider", NoHold: true, Quiet: time.Hour})
		own := ownProvider(ctx, t)
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		kubectl(ctx, cluster.Admin, "delete", "kubeprovider", own.Name)
		refuse(ctx, t, web(t), v1alpha1.ReasonKubeProviderNotFound)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		handedBack(ctx, t)
	})

	It("when the team's namespace is deleted with everything in it", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-ns")
		kubectl(ctx, cluster.Admin, "delete", "namespace", t.Name, "--timeout=60s")
		handedBack(ctx, t)
		Expect(kustomization(ctx, t).Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))
	})

	It("when its trigger is deleted although its source is gone", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-source")
		kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "delete", "gitrepository", t.Name, "--timeout=30s")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		handedBack(ctx, t)
	})

	It("to whoever applies spec.suspend, who is named", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-parent")
		piped(ctx, cluster.Bob, child(t, "suspend: true"), "apply", "--server-side", "--force-conflicts", "--field-manager=parent", "-f", "-")
		_, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionConfigured, v1alpha1.ReasonSuspendOwnedElsewhere)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		toldOf(ctx, t, v1alpha1.ReasonReleased, "field manager parent", "spec.suspend")
		k := kustomization(ctx, t)
		Expect(k.Spec.Suspend).To(BeTrue(), "as the other has it")
		Expect(k.Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))
		Expect(k.Annotations).NotTo(HaveKey(v1alpha1.HeldByAnnotation))
	})
})

var _ = Describe("A hand-back that is kept from happening", Label("flux"), func() {
	It("says so, and goes on by itself once it may", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-denied")
		restore := without(ctx, t, "kustomize.toolkit.fluxcd.io", "kustomizations", "patch")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--wait=false")
		message, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionConfigured, v1alpha1.ReasonForbidden)
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(And(ContainSubstring("kustomizations"), ContainSubstring("ClusterRole holdfast-holder")))
		releasing(ctx, t)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		restore()
		handedBack(ctx, t)
		Expect(t.Await(ctx, "the trigger is gone", func(ctx context.Context) (bool, string, error) {
			_, err := t.Trigger(ctx)
			return apierrors.IsNotFound(err), "there", client.IgnoreNotFound(err)
		})).To(Succeed())
	})

	It("ends after ten minutes: the trigger goes, and an Event says how to hand back what is left", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-late")
		restore := without(ctx, t, "kustomize.toolkit.fluxcd.io", "kustomizations", "patch")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--wait=false")
		releasing(ctx, t)
		pairs(ctx, cluster.Pair{Pod: "kc-late", Ahead: 11 * time.Minute}) // instead of waiting
		toldOf(ctx, t, v1alpha1.ReasonReleaseFailed, "flux-system/back-late", "10m", "holdfast release back-late/web")
		Expect(t.Await(ctx, "the trigger is gone", func(ctx context.Context) (bool, string, error) {
			_, err := t.Trigger(ctx)
			return apierrors.IsNotFound(err), "there", client.IgnoreNotFound(err)
		})).To(Succeed())
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue(), "let go as it is")
		restore()
	})

	It("also ends for a namespace that is being deleted, which then goes", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-late-ns")
		without(ctx, t, "kustomize.toolkit.fluxcd.io", "kustomizations", "patch")
		kubectl(ctx, cluster.Admin, "delete", "namespace", t.Name, "--wait=false")
		releasing(ctx, t)
		pairs(ctx, cluster.Pair{Pod: "kc-late-ns", Ahead: 11 * time.Minute})
		kubectl(ctx, cluster.Admin, "wait", "--for=delete", "namespace/"+t.Name, "--timeout=60s")
	})

	It("is off again when a GitTarget names the trigger meanwhile, and nothing was resumed for it", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "back-again")
		pushed(ctx, t, "trace")
		before := kustomization(ctx, t)
		allow := deny(ctx, t, "!object.spec.suspend")
		patched(ctx, t.Name, "gittarget", "web", unname)
		releasing(ctx, t)
		patched(ctx, t.Name, "gittarget", "web", rename)
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		allow()
		Expect(trigger(ctx, t).Status.ReleasingSince).To(BeNil())
		waits(ctx, t, "Ready")
		after := kustomization(ctx, t)
		Expect(after.Generation).To(Equal(before.Generation), "a resume would have made another generation")
		Expect(level(ctx, t)).To(Equal("info"))
		Expect(status.IsTrue(trigger(ctx, t).Status.Conditions, v1alpha1.ConditionHeld)).To(BeTrue())
	})
})
