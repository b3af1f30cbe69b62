package controller

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// posted keeps what was posted.
type posted []eventv1.Event

func (p *posted) Post(e eventv1.Event) { *p = append(*p, e) }

func TestATransitionIsPostedAboutTheKustomizationWithItsTrigger(t *testing.T) {
	s := newStage(t)
	var got posted
	s.r.Notify = &got
	s.hold()
	s.request("r1")
	s.pass()
	s.fluxWrites(starts)
	s.pass()
	s.fluxWrites(succeeds)
	s.fluxWrites(handlesToken)
	s.pass()
	var events eventsv1.EventList
	if err := s.store.List(t.Context(), &events); err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 1 || len(got) != 1 || got[0].Reason != "Applied" || got[0].Message != events.Items[0].Note {
		t.Fatalf("posted %+v, and the cluster has %+v", got, events.Items)
	}
	about, meta := got[0].InvolvedObject, got[0].Metadata
	if about.Kind != "Kustomization" || about.Namespace != "team" || about.Name != "app" || about.UID != "app-uid" ||
		about.GroupVersionKind().Group != "kustomize.toolkit.fluxcd.io" {
		t.Errorf("about %+v", about)
	}
	want := map[string]string{
		"kustomize.toolkit.fluxcd.io/trigger":  "team/app",
		"kustomize.toolkit.fluxcd.io/revision": "main@sha1:" + commit,
		"kustomize.toolkit.fluxcd.io/token":    s.trigger().Status.Operation.Token,
	}
	if diff := cmp.Diff(want, meta); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAPostSays(t *testing.T) {
	const other = "2222222222222222222222222222222222222222"
	source := &v1alpha1.TriggerSource{Branch: "main"}
	failed := &v1alpha1.Operation{Phase: "Failed", Token: "t1", Commit: commit, AppliedRevision: "main@sha1:" + other}
	done := &v1alpha1.Operation{Phase: "Succeeded", Token: "t1", Commit: commit, AppliedRevision: "main@sha1:" + other}
	for name, row := range map[string]struct {
		event    hold.Event
		op       *v1alpha1.Operation
		source   *v1alpha1.TriggerSource
		severity string
		revision string
		token    string
	}{
		"a success names what was applied": {
			hold.Event{Reason: v1alpha1.ReasonApplied}, done, source, "info", "main@sha1:" + other, "t1",
		},
		"a failure is an error and names what was asked for, not what was applied before": {
			hold.Event{Reason: v1alpha1.ReasonApplyFailed, Warning: true}, failed, source, "error", "main@sha1:" + commit, "t1",
		},
		"a longer hash is of another algorithm": {
			hold.Event{Reason: v1alpha1.ReasonApplyFailed, Warning: true}, &v1alpha1.Operation{Phase: "Failed", Token: "t1", Commit: strings.Repeat("3", 64)},
			source, "error", "main@sha256:" + strings.Repeat("3", 64), "t1",
		},
		"somebody else's resume is not the fault of the commit that was applied last": {
			hold.Event{Reason: v1alpha1.ReasonResumedElsewhere, Warning: true}, done, source, "error", "", "",
		},
		"a release neither": {
			hold.Event{Reason: v1alpha1.ReasonReleased}, done, source, "info", "", "",
		},
		"a source that is not known gives no revision": {
			hold.Event{Reason: v1alpha1.ReasonApplyUnresolved, Warning: true}, &v1alpha1.Operation{Phase: "Unresolved", Token: "t1", Commit: commit},
			nil, "error", "", "t1",
		},
		"no operation": {
			hold.Event{Reason: v1alpha1.ReasonApplyFailed, Warning: true}, nil, source, "error", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			trigger := &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
			s := hold.Seen{Now: time.Now(), Trigger: trigger}
			a := hold.Action{Status: &v1alpha1.FluxTriggerStatus{Operation: row.op, Source: row.source}}
			p := post(s, a, row.event)
			if p.Severity != row.severity {
				t.Errorf("severity %s", p.Severity)
			}
			if got := p.Metadata[metadataPrefix+"revision"]; got != row.revision {
				t.Errorf("revision %q, want %q", got, row.revision)
			}
			if got := p.Metadata[metadataPrefix+"token"]; got != row.token {
				t.Errorf("token %q, want %q", got, row.token)
			}
		})
	}
}

func TestAnEventNobodyCanWriteIsLoggedAndTheNewsIsPostedAllTheSame(t *testing.T) {
	events := schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
	terminating := apierrors.NewForbidden(events, "app.1", errors.New("because the namespace team is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, row := range map[string]struct {
		err   error
		error bool
	}{
		"in a namespace that is being deleted, it is no error": {terminating, false},
		"in one that is gone neither":                          {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "team"), false},
		"without the permission, it is":                        {apierrors.NewForbidden(events, "app.1", errors.New("no")), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var got posted
			s.r.Notify = &got
			s.before = func(string) error { return row.err }
			var lines, bad []string
			log := funcr.New(func(_, args string) {
				lines = append(lines, args)
				if strings.Contains(args, `"error"=`) {
					bad = append(bad, args)
				}
			}, funcr.Options{})
			e := hold.Event{Reason: v1alpha1.ReasonReleased, Message: "handed back"}
			s.r.tell(logr.NewContext(t.Context(), log), hold.Seen{Now: s.now, Trigger: s.trigger()}, hold.Action{Event: &e})
			if (len(bad) == 1) != row.error || len(lines) != 2 {
				t.Errorf("logged: %q", lines)
			}
			if len(got) != 1 {
				t.Errorf("posted: %+v", got)
			}
		})
	}
}

func TestNoCredentialIsTold(t *testing.T) {
	s := newStage(t)
	var got posted
	s.r.Notify = &got
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	e := hold.Event{Reason: v1alpha1.ReasonApplyFailed, Warning: true, Message: "clone https://bob:hunter2@git.example/a: 401"}
	s.r.tell(logr.NewContext(t.Context(), log), hold.Seen{Now: s.now, Trigger: s.trigger(), Kustomization: &kustomizev1.Kustomization{}}, hold.Action{Event: &e})
	var events eventsv1.EventList
	if err := s.store.List(t.Context(), &events); err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 1 || len(got) != 1 || len(lines) != 1 {
		t.Fatalf("told: %+v, %+v, %q", events.Items, got, lines)
	}
	for _, said := range []string{events.Items[0].Note, got[0].Message, lines[0]} {
		if strings.Contains(said, "hunter2") || !strings.Contains(said, "git.example") {
			t.Errorf("said: %s", said)
		}
	}
}

// An Event is written in package hold with its reason beside it, but for the one whose reason is a refusal's.
var told = regexp.MustCompile(`Event\{[^}]*?Reason:\s+v1alpha1\.Reason(\w+)`)

func TestTheDocumentationListsEveryReasonOfAnEventAndNoOther(t *testing.T) {
	said := map[string]bool{string(v1alpha1.ReasonSuspendOwnedElsewhere): true}
	files, err := filepath.Glob("../hold/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		for _, m := range told.FindAllStringSubmatch(string(source), -1) {
			said[m[1]] = true
		}
	}
	page, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	own, _, _ := strings.Cut(string(page), "\n## The injector\n")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(own, -1) {
		listed[m[1]] = true
	}
	if diff := cmp.Diff(listed, said); diff != "" {
		t.Errorf("docs/events.md (-listed +told):\n%s", diff)
	}
}
