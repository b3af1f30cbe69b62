package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// vanishes waits until the team's Kustomization is gone.
func vanishes(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	Expect(t.Await(ctx, "the Kustomization is gone", func(ctx context.Context) (bool, string, error) {
		k, err := t.Kustomization(ctx)
		return apierrors.IsNotFound(err), fmt.Sprintf("finalizers %v, suspended %v", k.Finalizers, k.Spec.Suspend), client.IgnoreNotFound(err)
	})).To(Succeed())
}

// remains is what is there of what the team's Kustomization applied.
func remains(ctx context.Context, t *scene.Team) []string {
	GinkgoHelper()
	return strings.Fields(kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap/settings", "deployment/web", "--ignore-not-found", "-o", "name"))
}

// deletions waits until n Events tell of a deletion while held, and returns what they say.
func deletions(ctx context.Context, t *scene.Team, n int) []string {
	GinkgoHelper()
	var all []string
	Expect(t.Await(ctx, fmt.Sprintf("%d Events tell of deletions", n), func(ctx context.Context) (bool, string, error) {
		var events corev1.EventList
		if err := t.Client.List(ctx, &events, client.InNamespace(t.Name)); err != nil {
			return false, "", err
		}
		all = nil
		for _, e := range events.Items {
			if e.Reason == string(v1alpha1.ReasonApplierDeleted) && e.Type == corev1.EventTypeWarning {
				all = append(all, e.Message)
			}
		}
		return len(all) >= n, strings.Join(all, "; "), nil
	})).To(Succeed())
	return all
}

// B12
var _ = Describe("A Kustomization that is deleted while it is held", Label("flux"), func() {
	It("prunes or leaves what it applied, as it and its trigger say, and an Event says how many objects", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "delete-rows")
		spec := kustomization(ctx, t).Spec
		spec.Suspend = false
		for i, row := range []struct {
			onDelete v1alpha1.OnDelete
			policy   string
			prune    bool
			stay     bool
			says     string
		}{
			{v1alpha1.OnDeleteResume, "", true, false, "deletionPolicy says (MirrorPrune)"},
			{v1alpha1.OnDeleteResume, "", false, true, "deletionPolicy says (MirrorPrune)"},
			{v1alpha1.OnDeleteResume, kustomizev1.DeletionPolicyDelete, false, false, "deletionPolicy says (Delete)"},
			{v1alpha1.OnDeleteResume, kustomizev1.DeletionPolicyOrphan, true, true, "deletionPolicy says (Orphan)"},
			{v1alpha1.OnDeleteOrphan, kustomizev1.DeletionPolicyDelete, true, true, "left in place (spec.onDelete: Orphan)"},
		} {
			By(fmt.Sprintf("onDelete %s, deletionPolicy %q, prune %v", row.onDelete, row.policy, row.prune))
			fresh := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: t.Name}, Spec: spec}
			fresh.Spec.DeletionPolicy, fresh.Spec.Prune = row.policy, row.prune
			patched(ctx, t.Name, "fluxtrigger", "web", fmt.Sprintf(`{"spec":{"onDelete":%q}}`, row.onDelete))
			if i > 0 {
				Expect(t.Client.Create(ctx, fresh)).To(Succeed())
				Expect(t.AwaitHeld(ctx)).To(Succeed())
				id := fmt.Sprint("r", i)
				ask(ctx, t, id, head(ctx, t))
				ends(ctx, t, id, v1alpha1.OperationSucceeded)
			} else {
				by(ctx, t, "kustomization", fmt.Sprintf(`{"spec":{"prune":%v}}`, row.prune))
			}
			Expect(remains(ctx, t)).To(HaveLen(2))
			history := len(trigger(ctx, t).Status.History)

			kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "delete", "kustomization", t.Name, "--timeout=60s")
			vanishes(ctx, t)
			if row.stay {
				Expect(remains(ctx, t)).To(HaveLen(2))
			} else {
				Expect(remains(ctx, t)).To(BeEmpty())
			}
			said := deletions(ctx, t, i+1)
			Expect(said).To(HaveLen(i+1), "one Event for each")
			Expect(said).To(ContainElement(And(ContainSubstring("2 objects"), ContainSubstring(row.says))))
			_, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionConfigured, v1alpha1.ReasonApplierNotFound)
			Expect(err).NotTo(HaveOccurred())
			if row.onDelete == v1alpha1.OnDeleteResume {
				Expect(trigger(ctx, t).Status.History[0].Origin).To(Equal(v1alpha1.OriginDeletion), "it is a recorded operation")
			} else {
				Expect(trigger(ctx, t).Status.History).To(HaveLen(history), "nothing was resumed")
			}
		}
	})

	It("goes, and prunes, also when its trigger is deleted with it", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "delete-both")
		kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "delete", "kustomization", t.Name, "--wait=false")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		vanishes(ctx, t)
		Expect(remains(ctx, t)).To(BeEmpty())
		Expect(deletions(ctx, t, 1)).To(ConsistOf(ContainSubstring("2 objects")))
	})

	It("goes, and leaves what the trigger says to leave, also when that is deleted first", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "delete-orphan")
		patched(ctx, t.Name, "fluxtrigger", "web", `{"spec":{"onDelete":"Orphan"}}`)
		thaw := freeze(cluster.Holder)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--wait=false")
		kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "delete", "kustomization", t.Name, "--wait=false")
		thaw()
		vanishes(ctx, t)
		Expect(remains(ctx, t)).To(HaveLen(2))
		Expect(deletions(ctx, t, 1)).To(ConsistOf(And(ContainSubstring("2 objects"), ContainSubstring("left in place"))))
	})

	It("is kept until a holder runs, which then lets Flux prune", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "delete-away")
		crashHolder()
		kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "delete", "kustomization", t.Name, "--wait=false")
		Expect(t.Await(ctx, "Flux has let it go", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return len(k.Finalizers) == 1 && k.Finalizers[0] == v1alpha1.HoldFinalizer, fmt.Sprint(k.Finalizers), err
		})).To(Succeed())
		Expect(remains(ctx, t)).To(HaveLen(2))
		Expect(world.StartHolder(ctx)).To(Succeed())
		vanishes(ctx, t)
		Expect(deletions(ctx, t, 1)).To(ConsistOf(ContainSubstring("2 objects")))
	})

	It("goes with its namespace and everything in it: source, trigger, GitTarget and objects", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "delete-ns", NoHold: true, Quiet: time.Hour})
		g, err := t.GitRepository(ctx)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "delete", "kustomization,gitrepository", t.Name, "--timeout=30s")
		k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: t.Name}, Spec: kustomizev1.KustomizationSpec{
			Path: "./apps", Interval: metav1.Duration{Duration: time.Hour}, Prune: true, TargetNamespace: t.Name,
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: t.Name},
		}}
		source := &sourcev1.GitRepository{ObjectMeta: k.ObjectMeta, Spec: g.Spec}
		source.Spec.SecretRef.Name = "git"
		create(ctx, t, func(objs []client.Object) {
			part[*v1alpha1.FluxTrigger](objs).Spec.KustomizationRef.Namespace = t.Name
		})
		Expect(t.Client.Create(ctx, source)).To(Succeed())
		Expect(t.Client.Create(ctx, k)).To(Succeed())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		ask(ctx, t, "r1", head(ctx, t))
		reaches(ctx, t, "r1", v1alpha1.OperationSucceeded)
		kubectl(ctx, cluster.Admin, "delete", "namespace", t.Name, "--timeout=60s")
	})
})
