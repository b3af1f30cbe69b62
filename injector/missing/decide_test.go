package missing

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// pod is a controller's pod without a holder, an hour old and ready, of the workload w.
func pod(name string, with ...func(*Pod)) Pod {
	p := Pod{Name: name, UID: types.UID(name), Created: now.Add(-time.Hour), Ready: true, Flavour: inject.Flux, Missing: true, Curable: true,
		Workload: Workload{UID: "w", Name: "ReplicaSet w"}, Why: "it has none"}
	for _, change := range with {
		change(&p)
	}
	return p
}

func aged(d time.Duration) func(*Pod)     { return func(p *Pod) { p.Created = now.Add(-d) } }
func of(w types.UID) func(*Pod)           { return func(p *Pod) { p.Workload.UID = w } }
func flavour(f inject.Flavour) func(*Pod) { return func(p *Pod) { p.Flavour = f } }
func mended(p *Pod)                       { p.Missing = false }
func starting(p *Pod)                     { p.Ready = false }
func incurable(p *Pod)                    { p.Curable = false }
func alone(p *Pod)                        { p.Workload = Workload{} }

func restarted(name types.UID, since time.Duration) map[types.UID]Restart {
	return map[types.UID]Restart{"w": {Pod: name, At: now.Add(-since)}}
}

// words writes a plan down: how many are missing, whom is told what, who is evicted, what is forgotten.
func words(p Plan) []string {
	var all []string
	for _, f := range []inject.Flavour{inject.Flux, inject.ArgoCD} {
		if n, is := p.Missing[f]; is {
			all = append(all, fmt.Sprintf("%d of %s", n, f))
		}
	}
	for _, t := range p.Tell {
		all = append(all, fmt.Sprintf("%s %s", t.Reason, t.Pod.Name))
	}
	for _, e := range p.Evict {
		all = append(all, "evict "+e.Name)
	}
	for _, f := range p.Forget {
		all = append(all, "forget "+string(f))
	}
	return all
}

func TestDecide(t *testing.T) {
	const one = "1 of kustomize-controller"
	for _, row := range []struct {
		name string
		seen Seen
		want []string
	}{
		{"a pod with its holder is nothing to tell of", Seen{Consent: true, Able: true, Pods: []Pod{pod("a", mended)}}, nil},
		{"one without is told of, and B2: left alone without consent", Seen{Able: true, Pods: []Pod{pod("a")}}, []string{one, "HolderMissing a"}},
		{
			"each controller is counted by itself", Seen{Pods: []Pod{pod("a"), pod("b"), pod("c", of("x"), flavour(inject.ArgoCD))}},
			[]string{"2 of kustomize-controller", "1 of argocd-application-controller", "HolderMissing a", "HolderMissing b", "HolderMissing c"},
		},
		{
			"with consent it is restarted", Seen{Consent: true, Able: true, Pods: []Pod{pod("a")}},
			[]string{one, "HolderMissing a", "Restarting a", "evict a"},
		},
		{"but not while the injector could not answer for the next one", Seen{Consent: true, Pods: []Pod{pod("a")}}, []string{one, "HolderMissing a"}},
		{
			"nor when it is younger than a minute", Seen{Consent: true, Able: true, Pods: []Pod{pod("a", aged(MinAge-time.Second))}},
			[]string{one, "HolderMissing a"},
		},
		{"nor when the next one would have none either", Seen{Consent: true, Able: true, Pods: []Pod{pod("a", incurable)}}, []string{one, "HolderMissing a"}},
		{"nor when nothing would make a next one", Seen{Consent: true, Able: true, Pods: []Pod{pod("a", alone)}}, []string{one, "HolderMissing a"}},
		{
			"of a workload the oldest goes first, alone", Seen{Consent: true, Able: true, Pods: []Pod{pod("b"), pod("a", aged(2*time.Hour))}},
			[]string{"2 of kustomize-controller", "HolderMissing a", "HolderMissing b", "Restarting a", "evict a"},
		},
		{
			"of two workloads one each", Seen{Consent: true, Able: true, Pods: []Pod{pod("a"), pod("b", of("x"))}},
			[]string{"2 of kustomize-controller", "HolderMissing a", "Restarting a", "HolderMissing b", "Restarting b", "evict a", "evict b"},
		},
		{
			"one that a budget kept is tried again", Seen{Consent: true, Able: true, Pods: []Pod{pod("a")}, Restarts: restarted("a", time.Minute)},
			[]string{one, "HolderMissing a", "evict a"},
		},
		{
			"but not when another came without one meanwhile",
			Seen{Consent: true, Able: true, Pods: []Pod{pod("a"), pod("b", aged(time.Second))}, Restarts: restarted("a", time.Minute)},
			[]string{"2 of kustomize-controller", "HolderMissing a", "RestartedInVain b"},
		},
		{
			"while one is on its way out the others wait", Seen{Consent: true, Able: true, Pods: []Pod{pod("b")}, Restarts: restarted("a", time.Minute)},
			[]string{one, "HolderMissing b"},
		},
		{
			"and while the one in its place gets ready",
			Seen{Consent: true, Able: true, Pods: []Pod{pod("b"), pod("c", aged(time.Second), mended, starting)}, Restarts: restarted("a", time.Minute)},
			[]string{one, "HolderMissing b"},
		},
		{
			"then the next goes",
			Seen{Consent: true, Able: true, Pods: []Pod{pod("b"), pod("c", aged(time.Second), mended)}, Restarts: restarted("a", time.Minute)},
			[]string{one, "HolderMissing b", "Restarting b", "evict b", "forget w"},
		},
		{
			"a workload whose next pod came without one too is left alone for good",
			Seen{Consent: true, Able: true, Pods: []Pod{pod("b", aged(time.Hour))}, Restarts: restarted("a", 2*time.Hour)},
			[]string{one, "RestartedInVain b"},
		},
		{
			"also when another of its pods has one",
			Seen{Consent: true, Able: true, Pods: []Pod{pod("b"), pod("c", mended), pod("d")}, Restarts: restarted("a", 2*time.Hour)},
			[]string{"2 of kustomize-controller", "RestartedInVain b", "RestartedInVain d"},
		},
		{
			"a pod made in the second of the restart counts as made after it",
			Seen{Consent: true, Able: true, Pods: []Pod{pod("b", aged(0))}, Restarts: restarted("a", -500*time.Millisecond)},
			[]string{one, "RestartedInVain b"},
		},
		{
			"what is mended is forgotten, so that it may be restarted another year",
			Seen{Consent: true, Able: true, Pods: []Pod{pod("b", mended)}, Restarts: restarted("a", 2*time.Hour)}, []string{"forget w"},
		},
		{"and so is what has had no pods for a day", Seen{Restarts: restarted("a", 25*time.Hour)}, []string{"forget w"}},
		{"but not sooner", Seen{Restarts: restarted("a", 23*time.Hour)}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.seen.Now = now
			p := Decide(row.seen)
			if diff := cmp.Diff(row.want, words(p)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if p.Recheck <= 0 || p.Recheck > lookEvery {
				t.Errorf("looks again after %s", p.Recheck)
			}
		})
	}
}

func TestAYoungPodIsLookedAtAgainWhenItIsAMinuteOld(t *testing.T) {
	p := Decide(Seen{Now: now, Consent: true, Able: true, Pods: []Pod{pod("a", aged(MinAge-5*time.Second))}})
	if p.Recheck != 5*time.Second {
		t.Errorf("after %s", p.Recheck)
	}
}
