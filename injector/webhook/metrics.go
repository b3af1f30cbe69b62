package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// outcome is what became of a call, a metric's label: one of these, or an inject.Skip.
type outcome string

const (
	outcomeInjected   outcome = "Injected"
	outcomeFailed     outcome = "Failed"
	outcomeNotAPod    outcome = "NotAPod"
	outcomeUnreadable outcome = "Unreadable"
)

// Metrics count calls and say how the policy is. A nil Metrics counts nothing.
type Metrics struct {
	reviews *prometheus.CounterVec
	seconds prometheus.Histogram
	refused prometheus.Gauge
}

// NewMetrics registers the metrics of this package.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_injector_reviews_total",
			Help: "Calls of API servers, by the controller that runs in the pod and by what became of it.",
		}, []string{"flavour", "outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "holdfast_injector_review_seconds",
			Help:    "How long calls took, from their first byte to the last of the answer.",
			Buckets: []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 10},
		}),
		refused: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_injector_policy_refused",
			Help: "1 while the file of the policy cannot be used, and the last good one holds if there was one.",
		}),
	}
	for _, f := range []inject.Flavour{inject.Flux, inject.ArgoCD} {
		m.reviews.WithLabelValues(string(f), string(outcomeInjected))
	}
	m.reviews.WithLabelValues("", string(outcomeFailed))
	for _, c := range []prometheus.Collector{m.reviews, m.seconds, m.refused} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) reviewed(f inject.Flavour, o outcome, took time.Duration) {
	if m != nil {
		m.reviews.WithLabelValues(string(f), string(o)).Inc()
		m.seconds.Observe(took.Seconds())
	}
}

func (m *Metrics) policy(err error) {
	if m == nil {
		return
	}
	m.refused.Set(0)
	if err != nil {
		m.refused.Set(1)
	}
}
