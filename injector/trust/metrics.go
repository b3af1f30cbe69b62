package trust

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// change is what was renewed, a metric's label.
type change string

const (
	changeAuthority   change = "Authority"
	changeBundle      change = "Bundle"
	changeCertificate change = "Certificate"
)

// Metrics say how the certificates are. A nil Metrics counts nothing.
type Metrics struct {
	changes *prometheus.CounterVec
	expires prometheus.Gauge
}

// NewMetrics registers the metrics of this package.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_injector_certificate_changes_total",
			Help: "What this replica renewed: the authority in the Secret, the caBundle, the certificate it serves.",
		}, []string{"what"}),
		expires: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_injector_certificate_expires_timestamp_seconds",
			Help: "When the certificate ends that this replica serves; 0: it serves none.",
		}),
	}
	for _, c := range []change{changeAuthority, changeBundle, changeCertificate} {
		m.changes.WithLabelValues(string(c))
	}
	for _, c := range []prometheus.Collector{m.changes, m.expires} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) changed(c change) {
	if m != nil {
		m.changes.WithLabelValues(string(c)).Inc()
	}
}

func (m *Metrics) serving(end time.Time) {
	if m != nil {
		m.expires.Set(float64(end.Unix()))
	}
}
