package sim

import (
	"context"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier/flux"
	"github.com/holdfast-gitops/holdfast/sidecar/controller"
	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
	simflux "github.com/holdfast-gitops/holdfast/test/sim/flux"
	"github.com/holdfast-gitops/holdfast/test/sim/turn"
)

// holder is one process of the real holder: its own reconciler on a client and a cache of the simulated API server. What
// controller-runtime does around Reconcile is done here.
type holder struct {
	w      *World
	pod    string
	dead   bool
	name   string    // of the process, in its pod
	sees   identity  // who leads, as far as it knows
	since  time.Time // when it saw that
	r      *controller.Reconciler
	cache  *apiserver.Cache
	pass   *turn.Task // nil: none runs
	pause  turn.Pause
	due    map[types.NamespacedName]time.Time // of the next pass for each trigger
	fails  int
	doomed bool // killed at the pause it is at
	tokens int
	over   map[*simflux.Run]bool // when it read the Kustomization from the API server last
}

// start starts a process, which lists what there is and looks at each trigger once.
func (h *holder) start() {
	w := h.w
	w.processes++
	*h = holder{w: w, pod: h.pod, name: fmt.Sprintf("holder-%d", w.processes), sees: w.leads, since: w.now, due: map[types.NamespacedName]time.Time{}}
	kinds := []*apiserver.Kind{
		w.kind(v1alpha1.GroupVersion.WithKind("FluxTrigger")), w.kind(kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind)),
		w.kind(sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind)), w.kind(v1alpha1.GroupVersion.WithKind("GitTarget")),
		w.kind(v1alpha1.GroupVersion.WithKind("GitProvider")), w.kind(v1alpha1.GroupVersion.WithKind("KubeProvider")),
		w.kind(corev1.SchemeGroupVersion.WithKind("Namespace")),
	}
	h.cache = w.Server.NewCache(kinds...)
	cached := &apiserver.Client{Server: w.Server, Cache: h.cache, Indexes: indexes, Types: w.Client.Types, Writing: h.write}
	live := &apiserver.Client{Server: w.Server, Types: w.Client.Types, Reading: h.read}
	metrics, err := controller.NewMetrics(prometheus.NewRegistry(), cached)
	if err != nil {
		panic(err)
	}
	h.r = newReconciler(h, cached, live, flux.New(cached), metrics)
	for _, o := range h.cache.List(kinds[0]) {
		h.due[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = w.now
	}
}

// newReconciler is the one place that knows what a holder's reconciler is made of.
func newReconciler(h *holder, cached, live *apiserver.Client, a flux.Applier, m *controller.Metrics) *controller.Reconciler {
	return &controller.Reconciler{
		Client: cached, Live: live, Applier: a, Metrics: m, ClusterUID: "cluster",
		Now:      func() time.Time { return h.w.now },
		NewToken: func() string { h.tokens++; return fmt.Sprintf("%s-token-%d", h.name, h.tokens) },
		Leader:   h, Shard: labels.Everything(), CancelsHealthChecks: h.w.gate, Namespace: "flux-system", Heartbeat: "flux-system/" + h.pod,
	}
}

// steps returns what can happen in the process now.
func (h *holder) steps() []simflux.Step {
	var steps []simflux.Step
	for _, k := range h.cache.Kinds() {
		if h.cache.Behind(k) > 0 {
			steps = append(steps, simflux.Step{What: h.name + " sees a change of a " + k.GVK.Kind, Do: func() { h.deliver(k) }})
		}
	}
	if h.pass != nil {
		if h.pass.ReadyAt(h.w.now) {
			steps = append(steps, simflux.Step{What: h.name + " " + h.pass.Next(), Do: h.goOn})
		}
		return steps
	}
	if at, ok := h.due[app]; ok && !at.After(h.w.now) {
		steps = append(steps, simflux.Step{What: h.name + " begins a pass", Do: h.begin})
	}
	return steps
}

// wake returns when the next pass is due; zero: when something changes.
func (h *holder) wake() time.Time {
	if h.pass != nil {
		return h.pass.Until()
	}
	return h.due[app]
}

// deliver takes in one change. Every change wakes the trigger: which watch maps what is the manager's, and tested with it.
func (h *holder) deliver(k *apiserver.Kind) {
	if _, ok := h.cache.Advance(k); ok {
		h.enqueue(h.w.now)
	}
}

func (h *holder) enqueue(at time.Time) {
	if was, there := h.due[app]; !there || at.Before(was) {
		h.due[app] = at
	}
}

// begin starts a pass.
func (h *holder) begin() {
	delete(h.due, app)
	seen := h.w.promises.passBegins(h)
	h.pass = turn.Begin("starts", func(pause turn.Pause) {
		h.pause = pause
		ctx := log.IntoContext(context.Background(), logr.New(ear{w: h.w}))
		res, err := h.r.Reconcile(ctx, ctrl.Request{NamespacedName: app})
		switch {
		case err != nil:
			h.enqueue(h.w.now.Add(min(50*time.Millisecond<<min(h.fails, 10), 30*time.Second)))
			h.fails++
			h.w.told.add(h.w, fmt.Sprintf("%s's pass fails: %v", h.name, err))
		case res.RequeueAfter > 0:
			h.fails = 0
			h.enqueue(h.w.now.Add(res.RequeueAfter))
		default:
			h.fails = 0
		}
		h.w.promises.passEnds(h, seen, err)
	})
	h.goOn()
}

func (h *holder) goOn() {
	h.pass.Go()
	switch {
	case h.doomed:
		h.kill()
	case h.pass.Ended():
		h.pass = nil
	}
}

// kill is kill -9.
func (h *holder) kill() {
	if h.pass != nil {
		h.pass.Kill()
	}
	h.dead, h.doomed, h.pass = true, false, nil
}

// read is one read from the API server.
func (h *holder) read(what string) error {
	h.pause("live "+what, turn.When{})
	if what == "get "+kustomizev1.KustomizationKind {
		h.over = h.w.promises.over()
	}
	if h.w.faults.failsRead(h.w) {
		return apierrors.NewTimeoutError(what+" took too long", 1)
	}
	return nil
}

// write is one effect. What becomes of it is up to the faults; what the holder is told need not be what happened.
func (h *holder) write(w apiserver.Write, do func() (*apiserver.Object, error)) (*apiserver.Object, error) {
	what := effect(w)
	h.pause(what, turn.When{})
	h.w.promises.sends(w, h.over)
	fate := h.w.faults.fate(h.w, what)
	h.w.visits.effect(what, fate)
	if fate != lands {
		h.w.told.add(h.w, fmt.Sprintf("%s: %s %s", h.name, what, fate))
	}
	var got *apiserver.Object
	var err error
	switch fate {
	case lands, answerLost, killedAfter:
		got, err = do()
		h.w.told.write(h.w, h.name, what, err)
	case comesLate, killedComesLate:
		h.w.delay("a late request of "+h.name+" arrives: "+what, func() {
			_, err := do()
			h.w.told.write(h.w, h.name, what, err)
		})
	case forbidden:
		return nil, apierrors.NewForbidden(w.Kind.GroupResource(), w.Key.Name, fmt.Errorf("%s may not", h.name))
	}
	switch fate {
	case killedBefore, killedAfter, killedComesLate:
		h.doomed = true
		h.pause("is killed", turn.When{})
	case answerLost, neverSent, comesLate:
		return nil, apierrors.NewTimeoutError("no answer to: "+what, 1)
	}
	return got, err
}
