package missing

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// outcome is what became of an eviction, a metric's label.
type outcome string

const (
	outcomeEvicted outcome = "Evicted"
	outcomeBudget  outcome = "KeptByBudget"
	outcomeFailed  outcome = "Failed"
)

// Metrics say what is missing. A nil Metrics says nothing.
type Metrics struct {
	pods      *prometheus.GaugeVec
	evictions *prometheus.CounterVec
}

// NewMetrics registers the metrics of this package.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		pods: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "holdfast_injector_pods_without_holder",
			Help: "Pods that should have a holder and have none, as the replica that leads sees them.",
		}, []string{"namespace", "flavour"}),
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_injector_evictions_total",
			Help: "Pods without a holder that were to be restarted, by what became of it.",
		}, []string{"outcome"}),
	}
	for _, o := range []outcome{outcomeEvicted, outcomeBudget, outcomeFailed} {
		m.evictions.WithLabelValues(string(o))
	}
	for _, c := range []prometheus.Collector{m.pods, m.evictions} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// missing says how many there are in a namespace; where there are none there is no sample.
func (m *Metrics) missing(namespace string, n map[inject.Flavour]int) {
	if m == nil {
		return
	}
	for _, f := range []inject.Flavour{inject.Flux, inject.ArgoCD} {
		if n[f] > 0 {
			m.pods.WithLabelValues(namespace, string(f)).Set(float64(n[f]))
		} else {
			m.pods.DeleteLabelValues(namespace, string(f))
		}
	}
}

func (m *Metrics) restarted(o outcome) {
	if m != nil {
		m.evictions.WithLabelValues(string(o)).Inc()
	}
}
