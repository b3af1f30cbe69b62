package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// trigger reads the team's trigger.
func trigger(ctx context.Context, t *scene.Team) *v1alpha1.FluxTrigger {
	GinkgoHelper()
	f, err := t.Trigger(ctx)
	Expect(err).NotTo(HaveOccurred())
	return f
}

// answered waits for the answer to the request.
func answered(ctx context.Context, t *scene.Team, id string, o v1alpha1.RequestOutcome) *v1alpha1.HandledRequest {
	GinkgoHelper()
	var h *v1alpha1.HandledRequest
	Expect(t.Await(ctx, fmt.Sprintf("%s is answered %s", id, o), func(ctx context.Context) (bool, string, error) {
		f, err := t.Trigger(ctx)
		if err != nil {
			return false, "", err
		}
		if h = f.Status.LastHandledRequest; h == nil {
			return false, scene.Say(f), nil
		}
		return h.ID == id && h.Outcome == o, h.ID + ": " + scene.Say(f), nil
	})).To(Succeed())
	return h
}

// pushFiles commits files as Bob and waits until the source holds them.
func pushFiles(ctx context.Context, t *scene.Team, message string, files map[string]string) string {
	GinkgoHelper()
	commit, err := world.Git.Commit(ctx, t.Name, "main", bob, message, files)
	Expect(err).NotTo(HaveOccurred())
	fetched(ctx, t, commit)
	return commit
}

// brokenManifest is refused by the API server.
var brokenManifest = map[string]string{
	"apps/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {level: [not, a, string]}\n",
}

// readyOf waits until the trigger is Ready, or is not, for the reason, and returns its message.
func readyOf(ctx context.Context, t *scene.Team, r v1alpha1.Reason) string {
	GinkgoHelper()
	message, err := t.AwaitReason(ctx, trigger(ctx, t), v1alpha1.ConditionReady, r)
	Expect(err).NotTo(HaveOccurred())
	return message
}

// toldTimes counts the Events with the reason about the team's trigger.
func toldTimes(ctx context.Context, t *scene.Team, r v1alpha1.Reason) int {
	GinkgoHelper()
	var events corev1.EventList
	Expect(t.Client.List(ctx, &events, client.InNamespace(t.Name))).To(Succeed())
	n := 0
	for _, e := range events.Items {
		if e.Reason == string(r) && e.InvolvedObject.Kind == "FluxTrigger" {
			n++
		}
	}
	return n
}

// runs counts the runs of the team's Kustomization that kustomize-controller has logged, those that did nothing because it
// is suspended left out.
func runs(t *scene.Team) int {
	GinkgoHelper()
	file, err := os.Open(filepath.Join(world.LogDir(), cluster.KustomizeController+".log"))
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Msg, Name, ReconcileID string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Name == t.Name && line.ReconcileID != "" && !strings.Contains(line.Msg, "suspended") {
			seen[line.ReconcileID] = true
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return len(seen)
}

var _ = Describe("A request that needs no operation", Label("flux"), func() {
	It("is answered: Current, Stale or Rejected, and nothing of the Kustomization is written", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "ops-answers")
		applied := head(ctx, t)
		operation := trigger(ctx, t).Status.Operation.Token
		before := kustomization(ctx, t)

		By("Current, for what is applied")
		ask(ctx, t, "current", applied)
		h := answered(ctx, t, "current", v1alpha1.OutcomeCurrent)
		Expect(h.Token).To(BeEmpty())
		Expect(h.Message).To(ContainSubstring(applied))

		By("Stale, for what the branch has passed, and for what it never had")
		passed := pushLevel(ctx, t, "debug")
		tip := pushed(ctx, t, "trace")
		for id, commit := range map[string]string{"passed": passed, "never": strings.Repeat("ab", 20)} {
			ask(ctx, t, id, commit)
			Expect(answered(ctx, t, id, v1alpha1.OutcomeStale).Message).To(ContainSubstring(tip))
		}

		By("Rejected, while the trigger cannot hold")
		by(ctx, t, "gitrepository", `{"spec":{"ref":{"tag":"v1"}}}`)
		readyOf(ctx, t, v1alpha1.ReasonUnsupportedSource)
		ask(ctx, t, "pinned", tip)
		Expect(answered(ctx, t, "pinned", v1alpha1.OutcomeRejected).Message).To(ContainSubstring("branch"))

		Expect(kustomization(ctx, t).ResourceVersion).To(Equal(before.ResourceVersion))
		Expect(trigger(ctx, t).Status.Operation.Token).To(Equal(operation))
		Expect(level(ctx, t)).To(Equal("info"))
	})

	It("that was carried out once is answered from the record, and not carried out again", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "ops-twice")
		first := pushed(ctx, t, "debug")
		ask(ctx, t, "r1", first)
		token := ends(ctx, t, "r1", v1alpha1.OperationSucceeded).Token
		second := pushed(ctx, t, "trace")
		ask(ctx, t, "r2", second)
		ends(ctx, t, "r2", v1alpha1.OperationSucceeded)
		before := kustomization(ctx, t).ResourceVersion
		ask(ctx, t, "r1", first)
		Expect(answered(ctx, t, "r1", v1alpha1.OutcomeSucceeded).Token).To(Equal(token))
		Expect(kustomization(ctx, t).ResourceVersion).To(Equal(before))
	})
})

var _ = Describe("A request while nothing can be fetched", Label("flux"), func() {
	It("waits for a source-controller that is down, and is carried out when it is back", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "ops-source")
		before := kustomization(ctx, t)
		commit := pushLevel(ctx, t, "debug")
		Expect(world.Kill(cluster.SourceController)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			if !world.Running(cluster.SourceController) {
				Expect(world.Revive(ctx, cluster.SourceController)).To(Succeed())
			}
		})
		ask(ctx, t, "r1", commit)
		Expect(t.Await(ctx, "it says what it waits for", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			c := status.Get(f.Status.Conditions, v1alpha1.ConditionReconciling)
			return c != nil && strings.Contains(c.Message, "source-controller") && strings.Contains(c.Message, commit), scene.Say(f), err
		})).To(Succeed())
		Expect(kustomization(ctx, t).ResourceVersion).To(Equal(before.ResourceVersion))
		Expect(world.Revive(ctx, cluster.SourceController)).To(Succeed())
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		Expect(level(ctx, t)).To(Equal("debug"))
	})

	It("is answered RequestFailed when Git is down, with one Event for a run of them", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "ops-git")
		before := kustomization(ctx, t)
		commit := pushLevel(ctx, t, "debug")
		Expect(world.Git.Down()).To(Succeed())
		DeferCleanup(world.Git.Up)
		for _, id := range []string{"r1", "r2"} {
			ask(ctx, t, id, commit)
			h := answered(ctx, t, id, v1alpha1.OutcomeRequestFailed)
			Expect(h.Message).To(And(ContainSubstring("GitRepository "+cluster.FluxNamespace+"/"+t.Name), Not(ContainSubstring(world.Git.Password(cluster.GitFlux)))))
		}
		Expect(toldTimes(ctx, t, v1alpha1.ReasonApplyRequestFailed)).To(Equal(1))
		Expect(kustomization(ctx, t).ResourceVersion).To(Equal(before.ResourceVersion))
		Expect(world.Git.Up()).To(Succeed())
		ask(ctx, t, "r3", commit)
		ends(ctx, t, "r3", v1alpha1.OperationSucceeded)
		Expect(level(ctx, t)).To(Equal("debug"))
	})
})

var _ = Describe("A person's annotation on the trigger", Label("flux"), func() {
	// annotate writes the value as Bob's tools would, whatever is in it.
	annotate := func(ctx context.Context, t *scene.Team, key, value string) {
		GinkgoHelper()
		f := trigger(ctx, t)
		before := client.MergeFrom(f.DeepCopy())
		if f.Annotations == nil {
			f.Annotations = map[string]string{}
		}
		f.Annotations[key] = value
		Expect(t.Client.Patch(ctx, f, before)).To(Succeed())
	}
	// manual waits for the end of a Manual operation other than that one.
	manual := func(ctx context.Context, t *scene.Team, other string) *v1alpha1.Operation {
		GinkgoHelper()
		var op *v1alpha1.Operation
		Expect(t.Await(ctx, "a Manual operation ends", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil {
				return false, "", err
			}
			op = f.Status.Operation
			h := f.Status.LastHandledManual
			return h != nil && h.ID == op.RequestID && op.RequestID != other && op.Origin == v1alpha1.OriginManual && op.Phase.Final(),
				fmt.Sprintf("%s %s; %s", op.Origin, op.RequestID, scene.Say(f)), nil
		})).To(Succeed())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		return op
	}

	It("applies the tip of the branch once a value, which may be any text", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "ops-manual")
		last := ""
		for i, value := range []string{
			"now",
			" ",
			`"}}, {"status":{"operation":{"phase":"Succeeded"}}}`,
			"../../etc/passwd\x00\n\r\n{{ .Values }} $(reboot) `id`",
			"holdfast-fetch-now",
			strings.Repeat("long ", 40_000),
			"\u202eсейчас \U0001f980",
		} {
			want := fmt.Sprintf("level-%d", i)
			commit := pushLevel(ctx, t, want)
			annotate(ctx, t, v1alpha1.RequestedAtAnnotation, value)
			op := manual(ctx, t, last)
			Expect(op.Phase).To(Equal(v1alpha1.OperationSucceeded), op.Message)
			Expect(op.RequestID).To(MatchRegexp(`^manual-[0-9a-f]{16}$`))
			Expect(op.Reason).To(Equal(v1alpha1.ApplyManual))
			Expect(op.AppliedRevision).To(Equal("main@sha1:" + commit))
			Expect(level(ctx, t)).To(Equal(want))
			last = op.RequestID
		}

		By("the same value asks for nothing more, whatever else changes")
		before := kustomization(ctx, t).ResourceVersion
		pushLevel(ctx, t, "unasked")
		annotate(ctx, t, "note", "written over")
		annotate(ctx, t, v1alpha1.RequestedAtAnnotation, "")
		Consistently(func() string { return kustomization(ctx, t).ResourceVersion }).
			WithTimeout(time.Second).WithPolling(50 * time.Millisecond).Should(Equal(before))
		Expect(trigger(ctx, t).Status.LastHandledManual.ID).To(Equal(last))
	})
})

var _ = Describe("A spec that is changed while it is held", Label("flux"), func() {
	It("is said not to be applied, whatever Flux says, and is never Current; the next operation applies it", storyBound, func(ctx SpecContext) { // B11
		files := scene.Web("ops-spec")
		files["other/settings.yaml"] = scene.Settings("ops-spec", "other")
		t := settledTeam(ctx, scene.Options{Name: "ops-spec", Quiet: time.Hour, Files: files})
		applied := head(ctx, t)
		by(ctx, t, "kustomization", `{"spec":{"path":"./other"}}`)
		Expect(readyOf(ctx, t, v1alpha1.ReasonSpecNotApplied)).To(ContainSubstring(v1alpha1.RequestedAtAnnotation))
		Expect(t.Await(ctx, "Flux calls it observed and ready", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.Status.ObservedGeneration == k.Generation && apimeta.IsStatusConditionTrue(k.Status.Conditions, meta.ReadyCondition),
				fmt.Sprintf("observed %d of %d", k.Status.ObservedGeneration, k.Generation), err
		})).To(Succeed())
		Expect(level(ctx, t)).To(Equal("info"))
		readyOf(ctx, t, v1alpha1.ReasonSpecNotApplied)

		ask(ctx, t, "r1", applied)
		op := ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		Expect(op.AppliedRevision).To(Equal("main@sha1:" + applied))
		Expect(level(ctx, t)).To(Equal("other"))
		readyOf(ctx, t, v1alpha1.ReasonSucceeded)
		ask(ctx, t, "r2", applied)
		answered(ctx, t, "r2", v1alpha1.OutcomeCurrent)
	})
})

var _ = Describe("Somebody else's resume", Label("flux"), func() {
	It("is an operation of theirs, with who, what and how it ended; then the trigger is Ready again", storyBound, func(ctx SpecContext) { // B13
		t := stillTeam(ctx, "ops-external")
		commit := pushed(ctx, t, "debug")
		thaw := freeze(cluster.Holder)
		by(ctx, t, "kustomization", resume)
		Expect(t.Await(ctx, "it is applied", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.Status.LastAppliedRevision == "main@sha1:"+commit, k.Status.LastAppliedRevision, err
		})).To(Succeed())
		thaw()
		op := ends(ctx, t, "", v1alpha1.OperationSucceeded)
		Expect(op.Origin).To(Equal(v1alpha1.OriginExternal))
		Expect(op.By).To(ContainSubstring("kubectl-patch"))
		Expect(op.Commit).To(Equal(commit))
		Expect(op.SuspendToken).NotTo(BeEmpty())
		Expect(trigger(ctx, t).Status.History[0].Token).To(Equal(op.Token))
		Expect(toldTimes(ctx, t, v1alpha1.ReasonResumedElsewhere)).To(Equal(1))
		readyOf(ctx, t, v1alpha1.ReasonSucceeded)

		By("what failed on their word is not Ready, until an operation succeeds")
		pushFiles(ctx, t, "Break it", brokenManifest)
		thaw = freeze(cluster.Holder)
		by(ctx, t, "kustomization", resume)
		Expect(t.Await(ctx, "it fails", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return apimeta.IsStatusConditionFalse(k.Status.Conditions, meta.ReadyCondition), "Ready", err
		})).To(Succeed())
		thaw()
		Expect(ends(ctx, t, "", v1alpha1.OperationFailed).Origin).To(Equal(v1alpha1.OriginExternal))
		readyOf(ctx, t, v1alpha1.ReasonApplyFailed)
		ask(ctx, t, "r1", pushed(ctx, t, "warn"))
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		readyOf(ctx, t, v1alpha1.ReasonSucceeded)
	})

	It("is Unresolved from the start, and withdrawn when nothing had run", storyBound, func(ctx SpecContext) { // B13
		t := stillTeam(ctx, "ops-nothing")
		pushed(ctx, t, "debug")
		before := trigger(ctx, t).Status.Operation.Token
		Expect(world.Kill(cluster.KustomizeController)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			if !world.Running(cluster.KustomizeController) {
				Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
			}
		})
		by(ctx, t, "kustomization", resume)
		op := reaches(ctx, t, "", v1alpha1.OperationUnresolved)
		Expect(op.Origin).To(Equal(v1alpha1.OriginExternal))
		readyOf(ctx, t, v1alpha1.ReasonOperationUnresolved)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
		readyOf(ctx, t, v1alpha1.ReasonSucceeded)
		Expect(trigger(ctx, t).Status.Operation.Token).To(Equal(before))
		Expect(level(ctx, t)).To(Equal("info"))
	})
})
