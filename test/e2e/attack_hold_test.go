package e2e

import (
	"context"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

var _ = Describe("Somebody who wants a held Kustomization to apply unrecorded", Label("flux", "attack"), func() {
	It("is named also when they resumed it only for a moment nobody saw", storyBound, func(ctx SpecContext) { // B13
		t := stillTeam(ctx, "attack-flap")
		pushed(ctx, t, "debug")
		thaw := freeze(cluster.Holder)
		by(ctx, t, "kustomization", resume)
		Expect(t.Await(ctx, "it is applied", func(ctx context.Context) (bool, string, error) {
			l, err := world.Kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap", "settings", "-o", "jsonpath={.data.level}")
			return l == "debug", l, err
		})).To(Succeed())
		by(ctx, t, "kustomization", suspend)
		thaw()
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonResumedElsewhere, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(And(ContainSubstring("for a moment"), ContainSubstring("kubectl-patch")))
		Expect(t.AwaitHeld(ctx)).To(Succeed())
	})

	It("gains nothing by writing another holder's name on it", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-mark")
		mine := kustomization(ctx, t).Annotations[v1alpha1.HeldByAnnotation]
		by(ctx, t, "kustomization", `{"metadata":{"annotations":{"holdfast.dev/held-by":"another/one"}},"spec":{"suspend":false}}`)
		_, err := t.AwaitEvent(ctx, v1alpha1.ReasonResumedElsewhere, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		Expect(kustomization(ctx, t).Annotations).To(HaveKeyWithValue(v1alpha1.HeldByAnnotation, mine))

		By("and cannot keep it from being handed back by it")
		thaw := freeze(cluster.Holder)
		by(ctx, t, "kustomization", `{"metadata":{"annotations":{"holdfast.dev/held-by":"another/one"}}}`)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--wait=false")
		thaw()
		Expect(t.Await(ctx, "it is handed back", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return !k.Spec.Suspend && !k.CreationTimestamp.IsZero(), "suspended", err
		})).To(Succeed())
	})

	It("does not tire the holder by resuming and suspending it fifty times", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-fifty")
		for i := range 100 {
			k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: t.Name}}
			patch := client.RawPatch(types.MergePatchType, []byte([]string{resume, suspend}[i%2]))
			Expect(t.Client.Patch(ctx, k, patch, client.FieldOwner("flux"))).To(Succeed())
		}
		_, err := t.AwaitEvent(ctx, v1alpha1.ReasonResumedElsewhere, "web")
		Expect(err).NotTo(HaveOccurred())
		ask(ctx, t, "r1", head(ctx, t))
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
	})

	It("changes no verdict by stamping over the token of the resume or of the suspend", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-stamp")
		commit, begin := resumed(ctx, t, "debug")
		by(ctx, t, "kustomization", stamp)
		reaches(ctx, t, "r1", v1alpha1.OperationSettling)
		begin()
		Expect(ends(ctx, t, "r1", v1alpha1.OperationFailed).Message).To(HavePrefix(string(v1alpha1.ReasonNothingRan)))
		Expect(level(ctx, t)).To(Equal("info"))

		thaw := freeze(cluster.SourceController)
		ask(ctx, t, "r2", commit)
		first := reaches(ctx, t, "r2", v1alpha1.OperationSettling).SuspendToken
		by(ctx, t, "kustomization", stamp)
		Expect(t.Await(ctx, "another suspend", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			return err == nil && f.Status.Operation.SuspendToken != first, first, err
		})).To(Succeed())
		thaw()
		Expect(ends(ctx, t, "r2", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
	})
})

var _ = Describe("An operation of the holder", Label("flux", "attack"), func() {
	It("says which revision ran when the source went on before the start", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-gap")
		_, begin := resumed(ctx, t, "debug")
		other := pushed(ctx, t, "trace")
		begin()
		op := ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		Expect(op.AppliedRevision).To(Equal("main@sha1:" + other))
		Expect(op.Message).To(And(ContainSubstring("the branch went on"), ContainSubstring(other)))
	})

	It("is no success when the source was turned to another branch before the start", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-branch")
		other, err := world.Git.Commit(ctx, t.Name, "side", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Elsewhere",
			map[string]string{"apps/settings.yaml": scene.Settings(t.Name, "elsewhere")})
		Expect(err).NotTo(HaveOccurred())
		_, begin := resumed(ctx, t, "debug")
		by(ctx, t, "gitrepository", `{"spec":{"ref":{"branch":"side"}}}`)
		Expect(t.Await(ctx, "the source holds the other branch", func(ctx context.Context) (bool, string, error) {
			g, err := t.GitRepository(ctx)
			if err != nil {
				return false, "", err
			}
			return g.Status.Artifact.HasRevision("side@sha1:" + other), g.Status.Artifact.Revision, nil
		})).To(Succeed())
		begin()
		op := reaches(ctx, t, "r1", v1alpha1.OperationFailed)
		Expect(op.Message).To(HavePrefix(string(v1alpha1.ReasonRevisionMismatch)))
		Expect(op.AppliedRevision).To(Equal("side@sha1:" + other))
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
	})

	It("that fails is suspended before kustomize-controller tries again", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-retry")
		by(ctx, t, "kustomization", `{"spec":{"retryInterval":"1s"}}`)
		broken, err := world.Git.Commit(ctx, t.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Break it",
			map[string]string{"apps/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {level: [not, a, string]}\n"})
		Expect(err).NotTo(HaveOccurred())
		ask(ctx, t, "r1", broken)
		ends(ctx, t, "r1", v1alpha1.OperationFailed)
		before := kustomization(ctx, t).Status
		Consistently(func(g Gomega) { // three retries long
			now := kustomization(ctx, t).Status
			g.Expect(now.History).To(Equal(before.History))
			g.Expect(now.Conditions).To(Equal(before.Conditions))
		}).WithTimeout(3 * time.Second).WithPolling(100 * time.Millisecond).Should(Succeed())
	})

	It("runs once and to its end while its trigger is written over and over", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-hot")
		commit := pushed(ctx, t, "debug")
		ask(ctx, t, "r1", commit)
		f := &v1alpha1.FluxTrigger{}
		for i := 0; i < 2000 && (f.Status.LastHandledRequest == nil || f.Status.LastHandledRequest.ID != "r1"); i++ {
			f = &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"moved":"%d"}}}`, i)
			Expect(t.Client.Patch(ctx, f, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
		}
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		Expect(t.Client.Get(ctx, t.In("web"), f)).To(Succeed())
		Expect(f.Status.History[1].RequestID).NotTo(Equal("r1"))
	})

	It("answers its own request when another takes that one's place meanwhile", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-replace")
		commit, thaw := settling(ctx, t, "debug")
		ask(ctx, t, "r2", commit)
		thaw()
		Expect(t.Await(ctx, "r2 is answered", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil {
				return false, "", err
			}
			h := f.Status.LastHandledRequest
			return h != nil && h.ID == "r2" && h.Outcome == v1alpha1.OutcomeCurrent, scene.Say(f), nil
		})).To(Succeed())
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Status.History[0].RequestID).To(Equal("r1"))
		Expect(f.Status.History[0].Phase).To(Equal(v1alpha1.OperationSucceeded))
	})
})

var _ = Describe("A crash in an operation", Label("flux", "attack"), func() {
	It("of the holder between record and resume applies nothing that came since", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-record")
		commit := pushed(ctx, t, "debug")
		allow := deny(ctx, t, "!object.spec.suspend")
		ask(ctx, t, "r1", commit)
		reaches(ctx, t, "r1", v1alpha1.OperationRequested)
		crashHolder()
		pushed(ctx, t, "trace")
		allow()
		Expect(world.StartHolder(ctx)).To(Succeed())
		Expect(t.Await(ctx, "the request is answered", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil || f.Status.LastHandledRequest == nil {
				return false, "", err
			}
			h := f.Status.LastHandledRequest
			return h.ID == "r1" && h.Outcome == v1alpha1.OutcomeStale, scene.Say(f), nil
		})).To(Succeed())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		Expect(level(ctx, t)).To(Equal("info"))
	})

	It("of the holder after the resume is found by the next one, which says what ran", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-resumed")
		_, begin := resumed(ctx, t, "debug")
		crashHolder()
		other := pushed(ctx, t, "trace")
		begin()
		Expect(world.StartHolder(ctx)).To(Succeed())
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + other))
		pushed(ctx, t, "warn")
		Expect(level(ctx, t)).To(Equal("trace"))
	})

	It("of the holder after the suspend changes nothing", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-settling")
		commit, thaw := settling(ctx, t, "debug")
		crashHolder()
		thaw()
		pushed(ctx, t, "trace")
		Expect(world.StartHolder(ctx)).To(Succeed())
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		Expect(level(ctx, t)).To(Equal("debug"))
	})

	It("of kustomize-controller is a Failed that is not tried again, and the next request succeeds", storyBound, func(ctx SpecContext) { // B17
		t := stillTeam(ctx, "attack-oom")
		commit, thaw := settling(ctx, t, "debug")
		Expect(world.Kill(cluster.KustomizeController)).To(Succeed())
		thaw()
		Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
		Expect(ends(ctx, t, "r1", v1alpha1.OperationFailed).Message).To(HavePrefix(string(v1alpha1.ReasonNotReady)))
		Expect(level(ctx, t)).To(Equal("info"))
		ask(ctx, t, "r2", commit)
		Expect(ends(ctx, t, "r2", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
	})

	It("of the API server is survived: whatever became of the run, it is not called what it was not", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-api")
		commit, thaw := settling(ctx, t, "debug")
		Expect(world.Restart(ctx, cluster.APIServer)).To(Succeed())
		thaw()
		var op *v1alpha1.Operation
		Expect(t.Await(ctx, "the operation ends", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil {
				return false, "", err
			}
			op = f.Status.Operation
			return op.Phase.Final(), string(op.Phase), nil
		})).To(Succeed())
		if op.Phase == v1alpha1.OperationSucceeded { // kustomize-controller fails when it cannot write its own status
			Expect(level(ctx, t)).To(Equal("debug"))
		}
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		ask(ctx, t, "r2", commit)
		Expect(t.Await(ctx, "the next request applies it, or finds that it is applied", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil || f.Status.LastHandledRequest == nil {
				return false, "", err
			}
			h := f.Status.LastHandledRequest
			return h.ID == "r2" && (h.Outcome == v1alpha1.OutcomeSucceeded || h.Outcome == v1alpha1.OutcomeCurrent), scene.Say(f), nil
		})).To(Succeed())
		Expect(level(ctx, t)).To(Equal("debug"))
	})
})

var _ = Describe("What an operation rests on and is taken away in it", Label("flux"), func() {
	It("the trigger: the operation ends, then the Kustomization is handed back", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-trigger")
		_, thaw := settling(ctx, t, "debug")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--wait=false")
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		thaw()
		handedBack(ctx, t)
		_, err := t.AwaitEvent(ctx, v1alpha1.ReasonApplied, "web")
		Expect(err).NotTo(HaveOccurred())
	})

	It("the GitTarget and its GitProvider: the operation ends, then the Kustomization is handed back", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-target")
		_, thaw := settling(ctx, t, "debug")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "gitprovider,gittarget", "--all", "--wait=false")
		thaw()
		handedBack(ctx, t)
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Status.Operation.Phase).To(Equal(v1alpha1.OperationSucceeded))
	})

	It("the Kustomization: the operation ends, then Flux prunes, and one made anew under its name is held", storyBound, func(ctx SpecContext) { // B12
		t := stillTeam(ctx, "attack-anew")
		_, thaw := settling(ctx, t, "debug")
		old := kustomization(ctx, t)
		kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "delete", "kustomization", t.Name, "--wait=false")
		thaw()
		fresh := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name}, Spec: old.Spec}
		fresh.Spec.Suspend = false
		Expect(t.Await(ctx, "it can be made anew", func(ctx context.Context) (bool, string, error) {
			return t.Client.Create(ctx, fresh.DeepCopy()) == nil, "the old one is there", nil
		})).To(Succeed())
		Expect(t.Await(ctx, "the new one is held", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.UID != old.UID && k.Spec.Suspend, string(k.UID), err
		})).To(Succeed())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Status.History[0].Origin).To(Equal(v1alpha1.OriginDeletion))
		Expect(f.Status.History[1].RequestID).To(Equal("r1"))
		Expect(f.Status.History[1].Phase).To(Equal(v1alpha1.OperationSucceeded))
	})
})
