package statuspage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// ours is the leadership the goldens are drawn with.
var ours = Leadership{Holder: "flux-system/holdfast-holder-kustomize-controller-7d9f8c6b5-x2x7k", Leads: true, Controller: "kustomize-controller-7d9f8c6b5-x2x7k_2f1c"}

// fleet are triggers as a holder leaves them, one in each state a person may find.
func fleet(t *testing.T) []v1alpha1.FluxTrigger {
	t.Helper()
	text, err := os.ReadFile("testdata/triggers.json")
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.FluxTriggerList
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func draw(t *testing.T, before *Board, version string, triggers []v1alpha1.FluxTrigger) *Board {
	t.Helper()
	b, err := Draw(before, version, noon, triggers, ours)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run this test with -update and review the change (-golden +drawn):\n%s", diff)
	}
}

func TestEachApplierIsSaidInOneSentence(t *testing.T) {
	var b strings.Builder
	s := Build(noon, fleet(t), ours)
	for _, a := range s.Appliers {
		mark := ""
		if a.NeedsAttention {
			mark = ", needs attention"
		}
		fmt.Fprintf(&b, "%s/%s (%s%s)\n    %s\n", a.Applier.Namespace, a.Applier.Name, labels[a.State], mark, a.Sentence)
	}
	c := s.Counts
	if c.Held+c.Applying+c.Moving+c.NotHeld != s.Total || c.NeedAttention == 0 {
		t.Errorf("the counts do not add up: %+v of %d", c, s.Total)
	}
	golden(t, "sentences.txt", b.String())
}

func TestThePage(t *testing.T) {
	var b bytes.Buffer
	if err := draw(t, nil, "v1", fleet(t)).Page(&b, Filter{Show: groupAll}); err != nil {
		t.Fatal(err)
	}
	golden(t, "page.html", strings.ReplaceAll(b.String(), edition, "EDITION"))
}

func TestWhatNeedsAttentionComesFirstAndWhatIsUnderWayNext(t *testing.T) {
	var ranks []int
	b := draw(t, nil, "v1", fleet(t))
	for _, c := range b.Cards {
		ranks = append(ranks, c.rank())
	}
	if fmt.Sprint(ranks) != "[0 0 0 0 0 1 1 1 1 2 2 2 2 2 2]" {
		t.Errorf("got %v", ranks)
	}
}

func TestOnlyTheCardsOfWhatChangedAreMadeAnew(t *testing.T) {
	in := fleet(t)
	first := draw(t, nil, "v1", in)
	in[3].ResourceVersion = "5000"
	in[3].Status.Conditions[2].Message = "something else"
	second := draw(t, first, "v2", in)
	anew := 0
	for _, c := range second.Cards {
		if first.byID[c.ID] != c {
			anew++
		}
	}
	if anew != 1 {
		t.Errorf("%d cards were made anew for one change", anew)
	}
	step, err := second.Since("v1")
	if err != nil {
		t.Fatal(err)
	}
	var c change
	if err := json.Unmarshal(step, &c); err != nil || len(c.Cards) != 1 || c.Order != nil || c.Version != "v2" {
		t.Errorf("%v: the change has %d cards and the order %v", err, len(c.Cards), c.Order)
	}
}

func TestATriggerMadeAnewUnderAnOldNameIsNotShownAsTheOldOne(t *testing.T) {
	in := fleet(t)
	first := draw(t, nil, "v1", in)
	in[0].UID = "another"
	in[0].Status = v1alpha1.FluxTriggerStatus{}
	if c := draw(t, first, "v2", in).byID[cardID(&in[0])]; c.State != StateUnknown {
		t.Errorf("it is shown as %s", c.State)
	}
}

func TestAPageOfAnyAgeBecomesTheBoard(t *testing.T) {
	in := fleet(t)
	first := draw(t, nil, "v1", in)
	second := draw(t, first, "v2", in[1:])
	third := draw(t, second, "v3", in[1:])
	for name, row := range map[string]struct {
		board       *Board
		have        string
		nothing     bool
		cards, ends int // ends: the length of the order, -1: absent
	}{
		"it is the same":             {third, "v3", true, 0, -1},
		"one before, and nothing":    {third, "v2", false, 0, -1},
		"one before, and one is out": {second, "v1", false, 0, 14},
		"two before":                 {third, "v1", false, 14, 14},
		"of another holder":          {third, "x", false, 14, 14},
		"of nobody":                  {first, "", false, 15, 15},
		"the last one went":          {draw(t, draw(t, nil, "v1", in[:1]), "v2", nil), "v1", false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := row.board.Since(row.have)
			if err != nil {
				t.Fatal(err)
			}
			if row.nothing {
				if text != nil {
					t.Errorf("got %s", text)
				}
				return
			}
			c := change{}
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			ends := len(c.Order)
			if c.Order == nil {
				ends = -1
			}
			if len(c.Cards) != row.cards || ends != row.ends || c.Version != row.board.Version || bytes.ContainsRune(text, '\n') {
				t.Errorf("got %d cards, an order of %d, version %s", len(c.Cards), ends, c.Version)
			}
		})
	}
}

func TestAFilterLeavesWhatFits(t *testing.T) {
	b := draw(t, nil, "v1", fleet(t))
	for query, want := range map[string]int{
		"":                       15,
		"show=all":               15,
		"show=nonsense":          15,
		"show=attention":         5,
		"show=moving":            5,
		"show=held":              5,
		"show=nothold":           5,
		"q=Team-Shop":            2,
		"q=team-shop+shop":       2,
		"q=shop%2Fshop":          1,
		"q=gitrepository":        1,
		"q=kubectl-edit":         1,
		"q=main":                 11,
		"q=applying&show=held":   0,
		"q=nothing+of+that+kind": 0,
		"q=%ff%00":               0,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range b.Cards {
			if FilterOf(values).fits(c) {
				n++
			}
		}
		if n != want {
			t.Errorf("%q leaves %d, want %d", query, n, want)
		}
	}
	if f := FilterOf(url.Values{"q": {strings.Repeat("é", 1000)}}); len(f.Query) > maxQuery || strings.ContainsRune(f.Query, '\uFFFD') {
		t.Errorf("a query of %d bytes", len(f.Query))
	}
}

func TestEveryTabCountsWhatItLeaves(t *testing.T) {
	b := draw(t, nil, "v1", fleet(t))
	for _, tab := range b.tabs(Filter{Query: `"><b>`}) {
		n := 0
		for _, c := range b.Cards {
			if (Filter{Show: tab.Key}).fits(c) {
				n++
			}
		}
		if n != tab.Count || strings.ContainsAny(string(tab.Link), `<>"`) {
			t.Errorf("%s: says %d, leaves %d, links to %s", tab.Label, tab.Count, n, tab.Link)
		}
	}
}

func TestTheStagesSayWhatHappenedAndNoMore(t *testing.T) {
	base := v1alpha1.Operation{Origin: v1alpha1.OriginRequest, RequestedAt: at(-9)}
	with := func(change func(*v1alpha1.Operation)) v1alpha1.Operation {
		op := base
		change(&op)
		return op
	}
	for name, row := range map[string]struct {
		op   v1alpha1.Operation
		want string
	}{
		"recorded": {with(func(o *v1alpha1.Operation) { o.Phase = "Requested" }),
			"recorded=done resumed=now started=todo suspended=todo handled=todo verdict=todo"},
		"running": {with(func(o *v1alpha1.Operation) { o.Phase, o.StartedAt = "Running", ptr(at(-8)) }),
			"recorded=done resumed=done+1s started=now suspended=todo handled=todo verdict=todo"},
		"settling": {with(func(o *v1alpha1.Operation) { o.Phase, o.StartedAt, o.SuspendToken = "Settling", ptr(at(-8)), "s" }),
			"recorded=done resumed=done+1s started=done suspended=done handled=now verdict=todo"},
		"succeeded": {with(func(o *v1alpha1.Operation) {
			o.Phase, o.StartedAt, o.SuspendToken, o.FinishedAt = "Succeeded", ptr(at(-8)), "s", ptr(at(-2))
		}), "recorded=done resumed=done+1s started=done suspended=done handled=done succeeded=good+6s"},
		"failed, nothing ran": {with(func(o *v1alpha1.Operation) {
			o.Phase, o.StartedAt, o.SuspendToken, o.FinishedAt, o.Result = "Failed", ptr(at(-8)), "s", ptr(at(-2)), v1alpha1.ReasonNothingRan
		}), "recorded=done resumed=done+1s started=missed suspended=done handled=done failed=bad+6s"},
		"failed, nobody followed": {with(func(o *v1alpha1.Operation) {
			o.Phase, o.StartedAt, o.SuspendToken, o.FinishedAt, o.Abandoned = "Failed", ptr(at(-8)), "s", ptr(at(-2)), v1alpha1.ReasonReleaseFailed
		}), "recorded=done resumed=done+1s started=done suspended=done handled=missed failed=bad+6s"},
		"failed, the applier went": {with(func(o *v1alpha1.Operation) {
			o.Phase, o.StartedAt, o.FinishedAt, o.Result = "Failed", ptr(at(-8)), ptr(at(-2)), v1alpha1.ReasonApplierNotFound
		}), "recorded=done resumed=done+1s started=done suspended=missed handled=missed failed=bad+6s"},
		"somebody else's": {with(func(o *v1alpha1.Operation) { o.Phase, o.Origin, o.SuspendToken = "Unresolved", "External", "s" }),
			"noticed=done resumed=done started=done suspended=done handled=now verdict=todo"},
		"a deletion": {with(func(o *v1alpha1.Operation) { o.Phase, o.Origin, o.StartedAt = "Running", "Deletion", ptr(at(-8)) }),
			"recorded=done resumed=done+1s pruned=now verdict=todo"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range stages(row.op) {
				got = append(got, s.Name+"="+s.How+s.Took)
			}
			if diff := cmp.Diff(row.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// hostile is a trigger whose every free text tries to be something else.
func hostile() v1alpha1.FluxTrigger {
	const evil = `<script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;` + "\u202Egnp.exe\u2066\u200b\x00\n</li>"
	f := trigger("team", "hostile")
	f.Spec.KustomizationRef = v1alpha1.NamespacedReference{Namespace: evil, Name: evil + strings.Repeat("w", 5000)}
	f.Spec.KubeProviderRef.Name = evil
	for _, c := range []v1alpha1.ConditionType{"Ready", "Held", "Configured", "HolderAvailable"} {
		f.Status.Conditions = append(f.Status.Conditions, metav1.Condition{Type: string(c), Status: "False", Reason: evil, Message: evil + strings.Repeat("long ", 5000)})
	}
	op := v1alpha1.Operation{
		RequestID: evil, Origin: v1alpha1.OriginExternal, By: evil, Phase: v1alpha1.OperationFailed, Reason: evil, Commit: evil, Token: evil,
		Controller: evil, AppliedRevision: evil, RequestedAt: at(-9), FinishedAt: ptr(at(-8)), Message: evil,
	}
	f.Status.Operation, f.Status.History = &op, []v1alpha1.Operation{op}
	f.Status.Holder = evil
	f.Status.Source = &v1alpha1.TriggerSource{GitRepository: v1alpha1.NamespacedReference{Namespace: evil, Name: evil}, URL: "javascript:alert(1)" + evil, Branch: evil}
	f.Status.Request = &v1alpha1.ApplyRequest{ID: evil, Reason: evil, Commit: evil, RequestedAt: at(-9)}
	f.Status.LastHandledRequest = &v1alpha1.HandledRequest{ID: evil + "2", Outcome: evil, Message: evil}
	f.Status.LastHandledManual = f.Status.LastHandledRequest
	return f
}

func TestNoNameOrMessageBecomesMarkup(t *testing.T) {
	in := []v1alpha1.FluxTrigger{hostile()}
	b, err := Draw(nil, "v1", noon, in, Leadership{Holder: in[0].Status.Holder, Controller: in[0].Status.Holder})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := b.Page(&page, Filter{Query: `"><script>alert(3)</script>`, Show: groupAll}); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if n := strings.Count(text, "&lt;script&gt;"); n < 20 {
		t.Errorf("the hostile text is in only %d places, so this test sees too little", n)
	}
	if strings.Count(text, "<script") != 1 || strings.Contains(text, "<img src=x") || strings.Count(text, "</li>") != 5+1+6+1 {
		t.Errorf("markup came from a name or a message")
	}
	if strings.ContainsAny(text, "\u202E\u2066\u200b\x00") || !strings.Contains(text, `\u202egnp.exe\u2066\u200b\u0000`) {
		t.Error("a character that hides or turns text is on the page as it is")
	}
	if strings.Contains(text, `="javascript:`) {
		t.Error("a URL of a source became a link")
	}
	step, err := b.Since("")
	if err != nil || bytes.Contains(step, []byte("<")) {
		t.Errorf("%v: the change has markup that JSON should have escaped", err)
	}
}

func TestNoCredentialIsOnThePage(t *testing.T) {
	f := trigger("team", "app")
	const url = "https://bob:hunter2@git.example/team/app?private_token=hunter2"
	f.Status.Conditions = []metav1.Condition{{Type: "Held", Status: "False", Reason: "NotConfigured", Message: "clone " + url + ": 401"}}
	f.Status.Source = &v1alpha1.TriggerSource{URL: url}
	b := draw(t, nil, "v1", []v1alpha1.FluxTrigger{f})
	if c := b.Cards[0]; strings.Contains(string(c.HTML)+c.Search, "hunter2") || !strings.Contains(string(c.HTML), "git.example") {
		t.Errorf("got %s", c.HTML)
	}
}

func TestManyAppliersAreDrawnOnceAndKept(t *testing.T) {
	var in []v1alpha1.FluxTrigger
	base := fleet(t)
	for i := range 1500 {
		f := *base[i%len(base)].DeepCopy()
		f.Name, f.ResourceVersion = fmt.Sprintf("app-%04d", i), fmt.Sprint(i+1)
		in = append(in, f)
	}
	first := draw(t, nil, "v1", in)
	if len(first.Cards) != maxAppliers || first.Total != 1500 || first.Omitted != 500 || first.Counts.Held+first.Counts.Applying+first.Counts.Moving+first.Counts.NotHeld != 1500 {
		t.Errorf("%d cards of %d, %d omitted, %+v", len(first.Cards), first.Total, first.Omitted, first.Counts)
	}
	second := draw(t, first, "v2", in)
	for i, c := range second.Cards {
		if first.Cards[i] != c {
			t.Fatalf("card %d was made anew although nothing changed", i)
		}
	}
	var page bytes.Buffer
	if err := second.Page(&page, Filter{Show: groupAll}); err != nil || page.Len() > 15<<20 {
		t.Errorf("%v, a page of %d bytes", err, page.Len())
	}
}

// BenchmarkDraw is one change among 500 appliers that were drawn before.
func BenchmarkDraw(b *testing.B) {
	text, _ := os.ReadFile("testdata/triggers.json")
	var list v1alpha1.FluxTriggerList
	if err := json.Unmarshal(text, &list); err != nil {
		b.Fatal(err)
	}
	var in []v1alpha1.FluxTrigger
	for i := range 500 {
		f := *list.Items[i%len(list.Items)].DeepCopy()
		f.Name, f.ResourceVersion = fmt.Sprintf("app-%04d", i), fmt.Sprint(i+1)
		in = append(in, f)
	}
	begin := time.Now()
	board, err := Draw(nil, "v0", noon, in, ours)
	if err != nil {
		b.Fatal(err)
	}
	first := time.Since(begin)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		in[7].ResourceVersion = fmt.Sprint("n", n)
		if board, err = Draw(board, fmt.Sprint("v", n+1), noon, in, ours); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms-for-the-first")
}
