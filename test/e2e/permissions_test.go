package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

var _ = Describe("A held Kustomization with a service account", Label("flux"), func() {
	It("is applied as that account, with its rights and no others", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "as-account")
		Expect(world.Apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: as-account, namespace: flux-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: as-account, namespace: %[1]s}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: as-account, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: as-account}
subjects: [{kind: ServiceAccount, name: as-account, namespace: flux-system}]
`, t.Name))).To(Succeed())
		by(ctx, t, "kustomization", `{"spec":{"serviceAccountName":"as-account"}}`)

		By("which may not write Deployments")
		ask(ctx, t, "r1", pushed(ctx, t, "debug"))
		op := ends(ctx, t, "r1", v1alpha1.OperationFailed)
		Expect(op.Message).To(And(ContainSubstring("deployments"), ContainSubstring("system:serviceaccount:flux-system:as-account")))
		Expect(level(ctx, t)).To(Equal("info"))

		By("and may by another role")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "create", "rolebinding", "as-account-edit", "--clusterrole=edit", "--serviceaccount=flux-system:as-account")
		ask(ctx, t, "r2", head(ctx, t))
		ends(ctx, t, "r2", v1alpha1.OperationSucceeded)
		Expect(level(ctx, t)).To(Equal("debug"))

		By("and stays so when it is handed back")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		handedBack(ctx, t)
		k := kustomization(ctx, t)
		Expect(k.Spec.ServiceAccountName).To(Equal("as-account"))
		for _, m := range k.ManagedFields {
			if strings.Contains(m.FieldsV1.GetRawString(), "f:serviceAccountName") {
				Expect(m.Manager).To(Equal("kubectl-patch"), "nobody but Bob has written it")
			}
		}
	})
})

// written returns the fields that the holder has written to an object and that nobody has written since.
func written(managed []metav1.ManagedFieldsEntry) []string {
	GinkgoHelper()
	var fields []string
	for _, m := range managed {
		if m.Manager != v1alpha1.HolderFieldManager {
			continue
		}
		var set fieldpath.Set
		Expect(set.FromJSON(m.FieldsV1.GetRawReader())).To(Succeed())
		set.Leaves().Iterate(func(p fieldpath.Path) { fields = append(fields, p.String()) })
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

var _ = Describe("What a holder may patch as a whole", Label("flux"), func() {
	It("it writes a few fields of, and no others", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "few-fields")
		ask(ctx, t, "r1", pushed(ctx, t, "debug"))
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		Expect(written(kustomization(ctx, t).ManagedFields)).To(Equal([]string{
			`.metadata.annotations.holdfast.dev/held-by`,
			`.metadata.annotations.reconcile.fluxcd.io/requestedAt`,
			`.metadata.finalizers[="holdfast.dev/hold"]`,
			`.spec.suspend`,
		}))
		ask(ctx, t, "r2", pushLevel(ctx, t, "warn")) // which the holder has fetched
		ends(ctx, t, "r2", v1alpha1.OperationSucceeded)
		g, err := t.GitRepository(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(written(g.ManagedFields)).To(Equal([]string{`.metadata.annotations.reconcile.fluxcd.io/requestedAt`}))
	})
})

var _ = Describe("A holder whose role lacks a rule", Label("flux"), func() {
	// heals waits until the trigger is as it should be.
	heals := func(ctx context.Context, t *scene.Team) {
		GinkgoHelper()
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		waits(ctx, t, "Configured")
	}

	It("says Forbidden with the rule, while it cannot hold, and holds once it may", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "role-hold")
		restore := without(ctx, t, "kustomize.toolkit.fluxcd.io", "kustomizations", "patch")
		by(ctx, t, "kustomization", `{"metadata":{"annotations":{"holdfast.dev/held-by":null}}}`)
		message := refuse(ctx, t, web(t), v1alpha1.ReasonForbidden)
		Expect(message).To(And(
			ContainSubstring("may not change the Kustomization"), ContainSubstring("kustomizations"), ContainSubstring("ClusterRole holdfast-holder")))
		waits(ctx, t, "Configured=False")
		restore()
		heals(ctx, t)
	})

	It("starts nothing it may not resume, answers why, and leaves no operation behind", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "role-resume")
		commit := pushed(ctx, t, "debug")
		restore := without(ctx, t, "kustomize.toolkit.fluxcd.io", "kustomizations", "patch")
		before := len(trigger(ctx, t).Status.History)
		ask(ctx, t, "r1", commit)
		Expect(refusedAs(ctx, t, "r1")).To(ContainSubstring("kustomizations"))
		f := trigger(ctx, t)
		Expect(f.Status.History).To(HaveLen(before))
		Expect(f.Status.Operation.RequestID).NotTo(Equal("r1"))
		Expect(level(ctx, t)).To(Equal("info"))
		restore()
		heals(ctx, t)
		ask(ctx, t, "r2", commit)
		ends(ctx, t, "r2", v1alpha1.OperationSucceeded)
	})

	It("answers a request whose commit it may not have fetched, with the rule", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "role-fetch")
		restore := without(ctx, t, "source.toolkit.fluxcd.io", "gitrepositories", "patch")
		commit := pushLevel(ctx, t, "debug")
		ask(ctx, t, "r1", commit)
		Expect(refusedAs(ctx, t, "r1")).To(And(ContainSubstring("ask for a fetch of the GitRepository"), ContainSubstring("ClusterRole holdfast-holder")))
		restore()
		heals(ctx, t)
		ask(ctx, t, "r2", commit)
		ends(ctx, t, "r2", v1alpha1.OperationSucceeded)
	})

	It("holds and applies although it may not write Events", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "role-events")
		without(ctx, t, "events.k8s.io", "events", "create")
		ask(ctx, t, "r1", pushed(ctx, t, "debug"))
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		by(ctx, t, "kustomization", resume)
		Expect(t.Await(ctx, "it is suspended again", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.Spec.Suspend && k.Status.LastHandledReconcileAt == k.Annotations["reconcile.fluxcd.io/requestedAt"], "resumed", err
		})).To(Succeed())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
	})

	It("adopts nothing while it may not mark the trigger", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "role-adopt", NoHold: true})
		restore := without(ctx, t, "holdfast.dev", "fluxtriggers", "patch")
		Expect(t.Furnish(ctx)).To(Succeed())
		message := refuse(ctx, t, web(t), v1alpha1.ReasonForbidden)
		Expect(message).To(ContainSubstring("change the trigger's finalizers"))
		untouched(ctx, t)
		restore()
		heals(ctx, t)
	})
})

// refusedAs waits until the request is answered RequestFailed, and returns why.
func refusedAs(ctx context.Context, t *scene.Team, id string) string {
	GinkgoHelper()
	why := ""
	Expect(t.Await(ctx, id+" is answered RequestFailed", func(ctx context.Context) (bool, string, error) {
		f, err := t.Trigger(ctx)
		if err != nil || f.Status.LastHandledRequest == nil {
			return false, scene.Say(f), err
		}
		h := f.Status.LastHandledRequest
		why = h.Message
		return h.ID == id && h.Outcome == v1alpha1.OutcomeRequestFailed, scene.Say(f), nil
	})).To(Succeed())
	return why
}
