package flux

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Run is one run of kustomize-controller that got as far as the cluster's workloads. It is kept up to date as it goes.
type Run struct {
	Number   int
	Key      types.NamespacedName
	UID      types.UID
	Revision string
	Path     string // spec.path the run read
	SeenRV   int64  // resourceVersion of the Kustomization it read at its start
	Token    string // requestedAt it read at its start
	Began    time.Time
	Objects  int  // how many it has written
	Full     bool // everything was applied
	Killed   bool // its process was killed
	Ended    bool // it returned
	By       string
}

// Truth is what really happened.
type Truth struct {
	Runs    []*Run
	Pruned  map[types.UID]int               // objects deleted with their Kustomization
	Cluster map[types.UID]map[string]string // objects there are, by Kustomization: name to revision

	// Starting is told of each run before its first write to a workload. May be nil.
	Starting func(*Run)
}

// NewTruth returns the truth about a cluster nothing was applied to.
func NewTruth() *Truth {
	return &Truth{Pruned: map[types.UID]int{}, Cluster: map[types.UID]map[string]string{}}
}

// begin notes a run.
func (t *Truth) begin(r *Run) {
	r.Number = len(t.Runs) + 1
	t.Runs = append(t.Runs, r)
	if t.Starting != nil {
		t.Starting(r)
	}
}

// place notes one object written.
func (t *Truth) place(r *Run, object string) {
	if t.Cluster[r.UID] == nil {
		t.Cluster[r.UID] = map[string]string{}
	}
	t.Cluster[r.UID][object] = r.Revision
	r.Objects++
}

// prune notes that everything of the Kustomization was deleted.
func (t *Truth) prune(uid types.UID) {
	t.Pruned[uid] += len(t.Cluster[uid])
	delete(t.Cluster, uid)
}
