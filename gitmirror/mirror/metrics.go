package mirror

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-gitops/holdfast/gitmirror/capture"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
)

// Metrics counts changes on their way from the watch to Git. It is a prometheus.Collector.
type Metrics struct {
	changes *prometheus.CounterVec
	refused prometheus.Counter
	pushes  *prometheus.CounterVec
	commits prometheus.Counter
}

// What a change is, beside the reasons for which one is skipped.
const (
	outcomeEdit       = "Edit"
	outcomeUnresolved = "Unresolved"
	outcomeResync     = "Resync"
)

// What becomes of a push.
const (
	outcomePushed   = "Pushed"
	outcomeMoved    = "Moved"
	outcomeRejected = "Rejected"
	outcomeFailed   = "Failed"
)

// NewMetrics returns Metrics with every count at zero.
func NewMetrics() *Metrics {
	return &Metrics{
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_gitmirror_changes_total",
			Help: "Changes of mirrored objects, once for each GitTarget, by what they are: Edit, Unresolved (an edit nobody is proven to have made), " +
				"Resync (found as a stream began), or why they are not written.",
		}, []string{"outcome"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_gitmirror_edits_refused_total",
			Help: "Edits that have no faithful place in Git and were reported.",
		}),
		pushes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_gitmirror_pushes_total",
			Help: "Pushes, by what became of them: Pushed, Moved (somebody else was faster; tried again), Rejected by the server, or Failed.",
		}, []string{"outcome"}),
		commits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_gitmirror_commits_total",
			Help: "Commits that were pushed.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(c chan<- *prometheus.Desc) {
	m.changes.Describe(c)
	m.refused.Describe(c)
	m.pushes.Describe(c)
	m.commits.Describe(c)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(c chan<- prometheus.Metric) {
	m.changes.Collect(c)
	m.refused.Collect(c)
	m.pushes.Collect(c)
	m.commits.Collect(c)
}

func (m *Metrics) skipped(s capture.Skip) { m.changes.WithLabelValues(string(s)).Inc() }

func (m *Metrics) edited(e capture.Edit) {
	outcome := outcomeEdit
	switch {
	case e.Resync:
		outcome = outcomeResync
	case e.Username == "":
		outcome = outcomeUnresolved
	}
	m.changes.WithLabelValues(outcome).Inc()
}

// countedPushes is a repository whose pushes are counted.
type countedPushes struct {
	*gitstore.Repository
	metrics *Metrics
}

func (c countedPushes) Push(ctx context.Context, branch, old string, commits []gitstore.Commit) error {
	err := c.Repository.Push(ctx, branch, old, commits)
	outcome := outcomeFailed
	var moved *gitstore.MovedError
	var rejected *gitstore.RejectedError
	switch {
	case err == nil:
		outcome = outcomePushed
		c.metrics.commits.Add(float64(len(commits)))
	case errors.As(err, &moved):
		outcome = outcomeMoved
	case errors.As(err, &rejected):
		outcome = outcomeRejected
	}
	c.metrics.pushes.WithLabelValues(outcome).Inc()
	return err
}
