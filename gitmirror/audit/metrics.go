package audit

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts what the receiver is sent. It is a prometheus.Collector.
type Metrics struct {
	batches, events *prometheus.CounterVec
	repeated        prometheus.Counter
}

// NewMetrics returns Metrics with every count at zero.
func NewMetrics() *Metrics {
	return &Metrics{
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_gitmirror_audit_batches_total",
			Help: "Batches of audit events, by the HTTP status they were answered with. A 503 was sent again or dropped by the API server.",
		}, []string{"code"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_gitmirror_audit_events_total",
			Help: "Audit events, by what became of them. NoVersion: the audit policy logs a mirrored kind below RequestResponse, or the event was truncated.",
		}, []string{"outcome"}),
		repeated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_gitmirror_audit_events_repeated_total",
			Help: "Audit events that were received before.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(c chan<- *prometheus.Desc) {
	m.batches.Describe(c)
	m.events.Describe(c)
	m.repeated.Describe(c)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(c chan<- prometheus.Metric) {
	m.batches.Collect(c)
	m.events.Collect(c)
	m.repeated.Collect(c)
}
