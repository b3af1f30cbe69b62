package controller

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
	"github.com/holdfast-gitops/holdfast/sidecar/notify"
)

// Metrics counts what happened, and times the phases of operations this process saw from their beginning. Every value of a
// label is a constant of the API or of package notify.
type Metrics struct {
	operations *prometheus.CounterVec
	phases     *prometheus.HistogramVec
	takenBack  prometheus.Counter
	mismatches prometheus.Counter
	requests   *prometheus.CounterVec
	posts      *prometheus.CounterVec

	mu      sync.Mutex
	entered map[types.UID]entry // by trigger, while an operation is in flight
}

// entry is when an operation entered the phase it is in.
type entry struct {
	token string
	phase v1alpha1.OperationPhase
	at    time.Time
}

// NewMetrics registers the holder's metrics. What is so now is counted from cached at each scrape.
func NewMetrics(registry prometheus.Registerer, cached client.Reader) (*Metrics, error) {
	m := &Metrics{
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_holder_operations_total",
			Help: "Operations that ended, by outcome, by the reason for it, and by where the operation came from.",
		}, []string{"outcome", "reason", "origin"}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "holdfast_holder_phase_seconds",
			Help:    "How long operations stayed in a phase.",
			Buckets: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600},
		}, []string{"phase"}),
		takenBack: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_holder_taken_back_total",
			Help: "Held Kustomizations that somebody else resumed and that were suspended again.",
		}),
		mismatches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_holder_revision_mismatches_total",
			Help: "Operations whose run applied another revision than the one asked for.",
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_holder_requests_answered_total",
			Help: "Requests that were answered, of gitmirror and of people, by the answer.",
		}, []string{"outcome"}),
		posts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_holder_event_posts_total",
			Help: "Events for the events address, by what became of them.",
		}, []string{"outcome"}),
		entered: map[types.UID]entry{},
	}
	for _, o := range answers {
		m.requests.WithLabelValues(string(o))
	}
	for _, o := range notify.Outcomes() {
		m.posts.WithLabelValues(string(o))
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_holder_held",
		Help: "Triggers that hold their applier now.",
	}, func() float64 { return count(cached, isHeld) })
	unresolved := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_holder_unresolved",
		Help: "Triggers whose operation is Unresolved now.",
	}, func() float64 { return count(cached, isUnresolved) })
	for _, c := range []prometheus.Collector{m.operations, m.phases, m.takenBack, m.mismatches, m.requests, m.posts, held, unresolved} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// answers are the outcomes of a request, so that one never given is seen as 0.
var answers = []v1alpha1.RequestOutcome{
	v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeFailed, v1alpha1.OutcomeCurrent,
	v1alpha1.OutcomeStale, v1alpha1.OutcomeRejected, v1alpha1.OutcomeRequestFailed,
}

// count returns how many triggers in the cache are so.
func count(cached client.Reader, so func(*v1alpha1.FluxTriggerStatus) bool) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var triggers v1alpha1.FluxTriggerList
	if err := cached.List(ctx, &triggers, client.UnsafeDisableDeepCopy); err != nil {
		return 0 // not synced yet, so nothing is known to be
	}
	n := 0
	for i := range triggers.Items {
		if so(&triggers.Items[i].Status) {
			n++
		}
	}
	return float64(n)
}

func isHeld(st *v1alpha1.FluxTriggerStatus) bool {
	return status.IsTrue(st.Conditions, v1alpha1.ConditionHeld)
}

func isUnresolved(st *v1alpha1.FluxTriggerStatus) bool {
	return st.Operation != nil && st.Operation.Phase == v1alpha1.OperationUnresolved
}

// Posted counts an event for the events address.
func (m *Metrics) Posted(o notify.Outcome) { m.posts.WithLabelValues(string(o)).Inc() }

// told counts what people were told of.
func (m *Metrics) told(e hold.Event) {
	if e.Reason == v1alpha1.ReasonResumedElsewhere {
		m.takenBack.Inc()
	}
}

// observe counts an action that was performed and reported.
func (m *Metrics) observe(s hold.Seen, a hold.Action) {
	if a.Verb == hold.RemoveFinalizer {
		m.forget(s.Trigger.UID)
	}
	if a.Status == nil {
		return
	}
	m.answered(s.Trigger.Status.LastHandledRequest, a.Status.LastHandledRequest)
	m.answered(s.Trigger.Status.LastHandledManual, a.Status.LastHandledManual)
	op, before := a.Status.Operation, s.Trigger.Status.Operation
	m.time(s, op)
	if op == nil || !op.Phase.Final() || before == nil || before.Token != op.Token || before.Phase.Final() {
		return
	}
	m.operations.WithLabelValues(string(op.Phase), string(a.Reason), string(op.Origin)).Inc()
	if a.Reason == v1alpha1.ReasonRevisionMismatch {
		m.mismatches.Inc()
	}
}

// answered counts an answer that is not the one before.
func (m *Metrics) answered(before, now *v1alpha1.HandledRequest) {
	if now == nil || before != nil && before.ID == now.ID && before.Outcome == now.Outcome {
		return
	}
	m.requests.WithLabelValues(string(now.Outcome)).Inc()
}

// time ends the phase the trigger's operation leaves, and begins the one it enters. A phase whose beginning this process did
// not see is not timed.
func (m *Metrics) time(s hold.Seen, op *v1alpha1.Operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, timed := m.entered[s.Trigger.UID]
	if timed && (op == nil || op.Token != was.token || op.Phase != was.phase) {
		m.phases.WithLabelValues(string(was.phase)).Observe(max(0, s.Now.Sub(was.at).Seconds()))
		delete(m.entered, s.Trigger.UID)
	}
	before := s.Trigger.Status.Operation
	if op == nil || op.Phase.Final() || before != nil && before.Token == op.Token && before.Phase == op.Phase {
		return
	}
	m.entered[s.Trigger.UID] = entry{op.Token, op.Phase, s.Now}
}

// forget drops what is kept of a trigger that goes.
func (m *Metrics) forget(trigger types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entered, trigger)
}
