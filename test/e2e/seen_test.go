package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/sidecar/statuspage"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// endpoint takes events as notification-controller does, and keeps them.
type endpoint struct {
	mu  sync.Mutex
	got []eventv1.Event
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event eventv1.Event
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.got = append(e.got, event)
	w.WriteHeader(http.StatusAccepted)
}

// about returns the events with the reason about the team's Kustomization.
func (e *endpoint) about(t *scene.Team, r v1alpha1.Reason) []eventv1.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []eventv1.Event
	for _, event := range e.got {
		if event.InvolvedObject.Kind == "Kustomization" && event.InvolvedObject.Name == t.Name && event.Reason == string(r) {
			found = append(found, event)
		}
	}
	return found
}

// listenToHolder starts the holder anew with an endpoint for its events, until the end of the story.
func listenToHolder(ctx context.Context) *endpoint {
	GinkgoHelper()
	e := &endpoint{}
	server := httptest.NewServer(e)
	DeferCleanup(server.Close)
	Expect(world.StopHolder(true)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(world.StopHolder(true)).To(Succeed())
		Expect(world.StartHolder(ctx)).To(Succeed())
	}, NodeTimeout(time.Minute))
	Expect(world.StartHolder(ctx, "--events-addr="+server.URL)).To(Succeed())
	return e
}

// told waits until the endpoint and the cluster have n events with the reason about the team, and returns the newest post.
// More than n is an error.
func told(ctx context.Context, t *scene.Team, e *endpoint, r v1alpha1.Reason, n int) eventv1.Event {
	GinkgoHelper()
	Expect(t.Await(ctx, fmt.Sprintf("%d times %s", n, r), func(ctx context.Context) (bool, string, error) {
		var events corev1.EventList
		if err := t.Client.List(ctx, &events, client.InNamespace(t.Name)); err != nil {
			return false, "", err
		}
		written := 0
		for _, event := range events.Items {
			if event.Reason == string(r) && event.InvolvedObject.Kind == "FluxTrigger" && event.InvolvedObject.Name == "web" {
				written++
			}
		}
		posted := len(e.about(t, r))
		if written > n || posted > n {
			return false, "", fmt.Errorf("%d Events and %d posts, which is too many", written, posted)
		}
		return written == n && posted == n, fmt.Sprintf("%d Events, %d posts", written, posted), nil
	})).To(Succeed())
	posts := e.about(t, r)
	return posts[len(posts)-1]
}

// breakIt pushes a manifest the API server refuses, and waits until the source holds it.
func breakIt(ctx context.Context, t *scene.Team, note string) string {
	GinkgoHelper()
	manifest := "# " + note + "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {level: [not, a, string]}\n"
	commit, err := world.Git.Commit(ctx, t.Name, "main", bob, "Break it", map[string]string{"apps/settings.yaml": manifest})
	Expect(err).NotTo(HaveOccurred())
	fetched(ctx, t, commit)
	return commit
}

// fromHolder asks the holder's port, as a port-forward would.
func fromHolder(ctx context.Context, method, path, host string) (*http.Response, string) {
	GinkgoHelper()
	req, err := http.NewRequestWithContext(ctx, method, world.HolderStatusURL()+path, nil)
	Expect(err).NotTo(HaveOccurred())
	if host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return resp, string(body)
}

// counted sums the samples of a metric of the holder whose labels hold all of with.
func counted(ctx context.Context, name string, with ...string) float64 {
	GinkgoHelper()
	resp, text := fromHolder(ctx, http.MethodGet, "/metrics", "")
	Expect(resp.StatusCode).To(Equal(http.StatusOK))
	sum := 0.0
	for _, m := range regexp.MustCompile(`(?m)^holdfast_holder_`+name+`({[^}]*})? (\S+)$`).FindAllStringSubmatch(text, -1) {
		all := true
		for _, label := range with {
			all = all && strings.Contains(m[1], label)
		}
		if all {
			v, err := strconv.ParseFloat(m[2], 64)
			Expect(err).NotTo(HaveOccurred())
			sum += v
		}
	}
	return sum
}

// shown returns the team's part of /status.
func shown(ctx context.Context, t *scene.Team) (statuspage.Status, statuspage.Applier) {
	GinkgoHelper()
	resp, body := fromHolder(ctx, http.MethodGet, "/status", "")
	Expect(resp.StatusCode).To(Equal(http.StatusOK), body)
	Expect(resp.Header.Get("Content-Type")).To(Equal("application/json"))
	Expect(resp.Header.Get("Cache-Control")).To(Equal("no-store"))
	var s statuspage.Status
	Expect(json.Unmarshal([]byte(body), &s)).To(Succeed())
	for _, a := range s.Appliers {
		if a.Trigger.Namespace == t.Name {
			return s, a
		}
	}
	Fail("the team is not in " + body)
	return s, statuspage.Applier{}
}

var _ = Describe("What the holder does is seen", Label("flux"), func() {
	It("as Events and at the events address: somebody's resume, a run of failures once, the hand-back", storyBound, func(ctx SpecContext) { // B13
		e := listenToHolder(ctx)
		t := stillTeam(ctx, "team-told")
		first := head(ctx, t)
		applied := told(ctx, t, e, v1alpha1.ReasonApplied, 1)
		Expect(applied.Severity).To(Equal(eventv1.EventSeverityInfo))
		Expect(applied.ReportingController).To(Equal("holdfast-holder"))
		Expect(applied.Metadata).To(And(
			HaveKeyWithValue("kustomize.toolkit.fluxcd.io/revision", "main@sha1:"+first),
			HaveKeyWithValue("kustomize.toolkit.fluxcd.io/trigger", t.Name+"/web")))

		taken := counted(ctx, "taken_back_total")
		by(ctx, t, "kustomization", resume)
		back := told(ctx, t, e, v1alpha1.ReasonResumedElsewhere, 1)
		Expect(back.Severity).To(Equal(eventv1.EventSeverityError))
		Expect(back.Message).To(ContainSubstring("kubectl-patch"))
		Expect(back.Metadata).NotTo(HaveKey("kustomize.toolkit.fluxcd.io/revision"))
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		Expect(counted(ctx, "taken_back_total")).To(Equal(taken + 1))

		failures := counted(ctx, "operations_total", `outcome="Failed"`, `origin="Request"`)
		answers := counted(ctx, "requests_answered_total", `outcome="Failed"`)
		for i := range 2 {
			id := fmt.Sprint("broken-", i)
			ask(ctx, t, id, breakIt(ctx, t, id))
			ends(ctx, t, id, v1alpha1.OperationFailed)
		}
		failed := told(ctx, t, e, v1alpha1.ReasonApplyFailed, 1)
		Expect(failed.Severity).To(Equal(eventv1.EventSeverityError))
		Expect(counted(ctx, "operations_total", `outcome="Failed"`, `origin="Request"`)).To(Equal(failures + 2))
		Expect(counted(ctx, "requests_answered_total", `outcome="Failed"`)).To(Equal(answers + 2))

		ask(ctx, t, "mended", pushed(ctx, t, "warn"))
		ends(ctx, t, "mended", v1alpha1.OperationSucceeded)
		told(ctx, t, e, v1alpha1.ReasonApplied, 2)
		ask(ctx, t, "broken-again", breakIt(ctx, t, "again"))
		ends(ctx, t, "broken-again", v1alpha1.OperationFailed)
		told(ctx, t, e, v1alpha1.ReasonApplyFailed, 2) // a new run of failures

		held := counted(ctx, "held")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		released := told(ctx, t, e, v1alpha1.ReasonReleased, 1)
		Expect(released.InvolvedObject.Namespace).To(Equal(cluster.FluxNamespace))
		Expect(counted(ctx, "held")).To(Equal(held - 1))
		for _, phase := range []v1alpha1.OperationPhase{v1alpha1.OperationRequested, v1alpha1.OperationSettling} { // a short Running may go unrecorded
			Expect(counted(ctx, "phase_seconds_count", fmt.Sprintf("phase=%q", phase))).To(BeNumerically(">=", 5), string(phase))
		}
		Expect(counted(ctx, "event_posts_total", `outcome="Delivered"`)).To(BeNumerically(">=", 6))
		Expect(counted(ctx, "event_posts_total")).To(Equal(counted(ctx, "event_posts_total", `outcome="Delivered"`)))
	})

	It("at /status, which says what the API says, to the loopback interface alone", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "team-shown")
		commit := pushed(ctx, t, "debug")
		thaw := freeze(cluster.SourceController)
		ask(ctx, t, "r1", commit)
		reaches(ctx, t, "r1", v1alpha1.OperationSettling)
		Expect(t.Await(ctx, "/status shows the operation under way", func(ctx context.Context) (bool, string, error) {
			s, a := shown(ctx, t)
			if a.Operation == nil {
				return false, "no operation", nil
			}
			last := a.Operation.Timeline[len(a.Operation.Timeline)-1]
			return s.APIVersion == statuspage.APIVersion && s.Leadership.Leads && s.Leadership.Holder != "" &&
				a.Held.Reason == string(v1alpha1.ReasonApplying) && a.Operation.RequestID == "r1" && a.Operation.Commit == commit &&
				last.Phase == v1alpha1.OperationSettling && a.BehindSince != nil, fmt.Sprintf("%+v", a), nil
		})).To(Succeed())
		thaw()
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)

		Expect(t.Await(ctx, "/status says what the API says", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil {
				return false, "", err
			}
			_, a := shown(ctx, t)
			held := status.Get(f.Status.Conditions, v1alpha1.ConditionHeld)
			ready := status.Get(f.Status.Conditions, v1alpha1.ConditionReady)
			same := a.Held.Reason == held.Reason && a.Held.Message == held.Message && a.Held.Since.Equal(&held.LastTransitionTime) &&
				a.Ready.Status == ready.Status && a.Ready.Reason == ready.Reason &&
				a.Applier.Name == t.Name && a.Applier.Namespace == cluster.FluxNamespace && a.Holder == f.Status.Holder &&
				a.Operation != nil && a.Operation.Token == f.Status.Operation.Token && a.Operation.FinishedAt.Equal(f.Status.Operation.FinishedAt) &&
				len(a.History) == len(f.Status.History) && a.LastHandledRequest != nil && *a.LastHandledRequest == *f.Status.LastHandledRequest &&
				a.Source != nil && *a.Source == *f.Status.Source && a.Waiting == nil && a.BehindSince.Equal(f.Status.BehindSince)
			return same, fmt.Sprintf("%+v", a), nil
		})).To(Succeed())

		for _, row := range []struct {
			method, host string
			want         int
		}{
			{http.MethodHead, "", 200}, {http.MethodPost, "", 405}, {http.MethodGet, "evil.example", 403},
		} {
			resp, _ := fromHolder(ctx, row.method, "/status", row.host)
			Expect(resp.StatusCode).To(Equal(row.want), "%s for %q", row.method, row.host)
		}
		for _, path := range []string{"/metrics", "/healthz", "/readyz", "/startz"} {
			resp, _ := fromHolder(ctx, http.MethodGet, path, "holder.example")
			Expect(resp.StatusCode).To(Equal(http.StatusOK), path)
		}
	})

	It("by kubectl get, in columns", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "team-columns")
		applied := head(ctx, t)
		lines := strings.Split(strings.TrimSpace(kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "fluxtriggers")), "\n")
		Expect(lines).To(HaveLen(2))
		Expect(strings.Fields(lines[0])).To(Equal([]string{"NAME", "HELD", "OPERATION", "COMMIT", "BEHIND", "READY", "AGE"}))
		Expect(lines[1]).To(MatchRegexp(`^web +Suspended +Succeeded +` + applied + ` +True +\S+$`)) // nothing is behind

		pushed(ctx, t, "debug") // and nobody asks for it
		Expect(t.Await(ctx, "the source is ahead", func(ctx context.Context) (bool, string, error) {
			line := kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "fluxtrigger", "web", "--no-headers")
			return regexp.MustCompile(`^web +Suspended +Succeeded +` + applied + ` +\d+m?s +True +\S+\s*$`).MatchString(line), line, nil
		})).To(Succeed())
	})
})
