package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// killController is kill -9 of kustomize-controller; at the end of the story one runs again.
func killController() {
	GinkgoHelper()
	Expect(world.Kill(cluster.KustomizeController)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if !world.Running(cluster.KustomizeController) {
			Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
		}
	})
}

// gone waits until the Kustomization is no more.
func gone(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	Expect(t.Await(ctx, "the Kustomization is gone", func(ctx context.Context) (bool, string, error) {
		k, err := t.Kustomization(ctx)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, fmt.Sprintf("suspend %v, finalizers %v", k.Spec.Suspend, k.Finalizers), err
	})).To(Succeed())
}

var _ = Describe("A crash of the holder outside an apply", Label("flux"), func() {
	It("while it hands back: the next one hands back, once", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "crash-release")
		allow := deny(ctx, t, "!object.spec.suspend")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--wait=false")
		Expect(t.Await(ctx, "it tries to hand back", func(context.Context) (bool, string, error) {
			log := world.LogTail(cluster.Holder)
			return strings.Contains(log, "release Kustomization "+t.FluxName().String()), log, nil
		})).To(Succeed())
		crashHolder()
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		allow()
		Expect(world.StartHolder(ctx)).To(Succeed())
		handedBack(ctx, t)
		Expect(t.Await(ctx, "the trigger is gone", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			return apierrors.IsNotFound(err), scene.Say(f), nil
		})).To(Succeed())
		Expect(kustomization(ctx, t).Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))
		Expect(toldTimes(ctx, t, v1alpha1.ReasonReleased)).To(Equal(1))
	})

	It("between the record of a deletion and the resume: the next one lets Flux prune", storyBound, func(ctx SpecContext) { // B12
		t := stillTeam(ctx, "crash-delete")
		allow := deny(ctx, t, "!object.spec.suspend")
		kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "delete", "kustomization", t.Name, "--wait=false")
		Expect(t.Await(ctx, "the deletion is recorded", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			op := f.Status.Operation
			return op != nil && op.Origin == v1alpha1.OriginDeletion, scene.Say(f), err
		})).To(Succeed())
		crashHolder()
		Expect(level(ctx, t)).To(Equal("info"))
		allow()
		Expect(world.StartHolder(ctx)).To(Succeed())
		gone(ctx, t)
		pruned(ctx, t)
	})

	It("while Flux prunes what was deleted: it waits for the next one, which lets it go", storyBound, func(ctx SpecContext) { // B12
		t := stillTeam(ctx, "crash-prune")
		killController()
		kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "delete", "kustomization", t.Name, "--wait=false")
		Expect(t.Await(ctx, "it is resumed for the prune", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return !k.Spec.Suspend, "suspended", err
		})).To(Succeed())
		crashHolder()
		Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
		pruned(ctx, t)
		Expect(t.Await(ctx, "only the holder's finalizer is left", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return strings.Join(k.Finalizers, " ") == v1alpha1.HoldFinalizer, fmt.Sprint(k.Finalizers), err
		})).To(Succeed())
		Expect(world.StartHolder(ctx)).To(Succeed())
		gone(ctx, t)
		_, err := t.AwaitEvent(ctx, v1alpha1.ReasonApplierDeleted, "web")
		Expect(err).NotTo(HaveOccurred())
	})
})

// pruned waits until what the Kustomization applied is deleted.
func pruned(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	Expect(t.Await(ctx, "the settings are pruned", func(ctx context.Context) (bool, string, error) {
		left, err := world.Kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap", "settings", "--ignore-not-found", "-o", "name")
		return err == nil && left == "", left, err
	})).To(Succeed())
}

var _ = Describe("A crash of kustomize-controller and of the holder in the middle of an apply", Label("flux"), func() {
	// The next controller would try again at once what it finds resumed. The holder comes back before it, and suspends.
	It("ends Failed with what Flux says, and the rest is not applied until it is asked for", storyBound, func(ctx SpecContext) { // B17
		const objects = 100
		t := settledTeam(ctx, scene.Options{Name: "crash-apply", Quiet: time.Hour, Files: scene.ConfigMaps("crash-apply", objects, "0")})
		commit := pushFiles(ctx, t, "All of them", scene.ConfigMaps(t.Name, objects, "1"))
		applied := func() int {
			return strings.Count(kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap", "-o", `jsonpath={range .items[*]}{.data.rev},{end}`), "1,")
		}
		// The holder dies between the resume and the start, so that nobody has suspended it yet.
		thaw := freeze(cluster.KustomizeController)
		ask(ctx, t, "r1", commit)
		reaches(ctx, t, "r1", v1alpha1.OperationRunning)
		crashHolder()
		thaw()
		Expect(t.Await(ctx, "the apply is under way", func(ctx context.Context) (bool, string, error) {
			first := &corev1.ConfigMap{}
			err := t.Client.Get(ctx, t.In("cm-000"), first)
			return first.Data["rev"] == "1", first.Data["rev"], err
		})).To(Succeed())
		killController()
		part := applied()
		AddReportEntry("applied when it died", fmt.Sprintf("%d of %d", part, objects))
		Expect(part).To(And(BeNumerically(">", 0), BeNumerically("<", objects)))
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse())

		Expect(world.StartHolder(ctx)).To(Succeed())
		reaches(ctx, t, "r1", v1alpha1.OperationSettling)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
		op := ends(ctx, t, "r1", v1alpha1.OperationFailed)
		Expect(op.Message).To(And(HavePrefix(string(v1alpha1.ReasonNotReady)), ContainSubstring("Progressing")))
		Expect(op.AppliedRevision).NotTo(ContainSubstring(commit))
		Expect(applied()).To(Equal(part))

		ask(ctx, t, "r2", commit)
		ends(ctx, t, "r2", v1alpha1.OperationSucceeded)
		Expect(applied()).To(Equal(objects))
	})
})
