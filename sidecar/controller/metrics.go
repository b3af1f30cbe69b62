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
)

// Metrics counts what happened, and times the phases of operations this process saw from their beginning.
type Metrics struct {
	operations *prometheus.CounterVec
	phases     *prometheus.HistogramVec
	takenBack  prometheus.Counter

	mu      sync.Mutex
	entered map[types.UID]entry // by trigger, while an operation is in flight
}

// entry is when an operation entered the phase it is in.
type entry struct {
	token string
	phase v1alpha1.OperationPhase
	at    time.Time
}

// NewMetrics registers the holder's metrics. How many triggers are held is counted from cached at each scrape.
func NewMetrics(registry prometheus.Registerer, cached client.Reader) (*Metrics, error) {
	m := &Metrics{
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_holder_operations_total",
			Help: "Operations that ended, by outcome and by the reason for it.",
		}, []string{"outcome", "reason"}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "holdfast_holder_phase_seconds",
			Help:    "How long operations stayed in a phase.",
			Buckets: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300},
		}, []string{"phase"}),
		takenBack: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_holder_taken_back_total",
			Help: "Held Kustomizations that somebody else resumed and that were suspended again.",
		}),
		entered: map[types.UID]entry{},
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_holder_held",
		Help: "Triggers that hold their applier now.",
	}, func() float64 { return countHeld(cached) })
	for _, c := range []prometheus.Collector{m.operations, m.phases, m.takenBack, held} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// countHeld returns how many triggers in the cache are Held.
func countHeld(cached client.Reader) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var triggers v1alpha1.FluxTriggerList
	if err := cached.List(ctx, &triggers); err != nil {
		return 0 // not synced yet, so nothing is known to be held
	}
	n := 0
	for _, t := range triggers.Items {
		if status.IsTrue(t.Status.Conditions, v1alpha1.ConditionHeld) {
			n++
		}
	}
	return float64(n)
}

// told counts what people were told of.
func (m *Metrics) told(e hold.Event) {
	if e.Reason == v1alpha1.ReasonResumedElsewhere {
		m.takenBack.Inc()
	}
}

// observe counts an action that was performed and reported.
func (m *Metrics) observe(s hold.Seen, a hold.Action) {
	if a.Status == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	was, timed := m.entered[s.Trigger.UID]
	op := a.Status.Operation
	if timed && (op == nil || op.Token != was.token || op.Phase != was.phase) {
		m.phases.WithLabelValues(string(was.phase)).Observe(s.Now.Sub(was.at).Seconds())
		delete(m.entered, s.Trigger.UID)
	}
	if op == nil {
		return
	}
	before := s.Trigger.Status.Operation
	fresh := before == nil || before.Token != op.Token || before.Phase != op.Phase
	switch {
	case !op.Phase.Final() && fresh:
		m.entered[s.Trigger.UID] = entry{op.Token, op.Phase, s.Now}
	case op.Phase.Final() && fresh && before != nil && before.Token == op.Token:
		m.operations.WithLabelValues(string(op.Phase), string(a.Reason)).Inc()
	}
}
