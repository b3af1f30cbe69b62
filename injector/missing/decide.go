package missing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// How long a pod is left alone, and how often one that cannot be evicted yet is tried again.
const (
	// MinAge is how old a pod is when it may be restarted: younger ones may be in the middle of something.
	MinAge = time.Minute

	retryEvery = 10 * time.Second
	lookEvery  = 30 * time.Second

	// forgetAfter is how long the restart of a workload without pods is remembered.
	forgetAfter = 24 * time.Hour
)

// Reason is what an Event says, in one word.
type Reason string

const (
	// ReasonHolderMissing: the pod should have a holder and has none.
	ReasonHolderMissing Reason = "HolderMissing"
	// ReasonRestartedInVain: the pod took the place of one that was evicted to get a holder, and has none either.
	ReasonRestartedInVain Reason = "RestartedInVain"
	// ReasonRestarting: the pod is evicted to get a holder.
	ReasonRestarting Reason = "Restarting"
)

// Pod is a pod of a controller as far as decisions go.
type Pod struct {
	Name     string
	UID      types.UID
	Created  time.Time
	Ready    bool
	Workload Workload
	Flavour  inject.Flavour

	Missing bool   // it should have a holder and has none
	Curable bool   // one made anew would get it
	Why     string // one sentence about that
}

// Workload is what makes a pod anew when it is gone; the zero Workload is nothing.
type Workload struct {
	UID  types.UID
	Name string // with its kind, for a sentence
}

// Restart is the last eviction in a workload.
type Restart struct {
	Pod types.UID `json:"pod"`
	At  time.Time `json:"at"` // UTC
}

// Seen is everything Decide may look at of one namespace.
type Seen struct {
	Now      time.Time             // UTC
	Pods     []Pod                 // of controllers, those that are ending left out
	Consent  bool                  // somebody said that pods may be restarted
	Able     bool                  // the injector would give a new pod its holder
	Restarts map[types.UID]Restart // in this namespace, by workload
}

// Told is one thing to tell of a pod.
type Told struct {
	Pod    Pod
	Reason Reason
	Note   string
}

// Plan is what to do now. The zero Plan does nothing.
type Plan struct {
	Missing map[inject.Flavour]int // how many pods have no holder
	Tell    []Told                 // in the order of the pods; what was told before is told no more by the shell
	Evict   []Pod                  // of one workload each; Restarts is written down first
	Forget  []types.UID            // workloads whose restart has helped, or that are gone
	Recheck time.Duration
}

// Decide returns what to do about the pods of one namespace.
func Decide(s Seen) Plan {
	p := Plan{Missing: map[inject.Flavour]int{}, Recheck: lookEvery}
	pods := slices.Clone(s.Pods)
	slices.SortFunc(pods, func(a, b Pod) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	byWorkload := map[types.UID][]Pod{}
	var order []types.UID
	for _, pod := range pods {
		if pod.Missing {
			p.Missing[pod.Flavour]++
		}
		if _, seen := byWorkload[pod.Workload.UID]; !seen {
			order = append(order, pod.Workload.UID)
		}
		byWorkload[pod.Workload.UID] = append(byWorkload[pod.Workload.UID], pod)
	}
	for _, workload := range order {
		p.workload(s, workload, byWorkload[workload])
	}
	for _, workload := range slices.Sorted(maps.Keys(s.Restarts)) {
		if len(byWorkload[workload]) == 0 && s.Now.Sub(s.Restarts[workload].At) > forgetAfter {
			p.Forget = append(p.Forget, workload) // it was taken away
		}
	}
	return p
}

// workload adds what to do about the pods of one workload, oldest first.
func (p *Plan) workload(s Seen, workload types.UID, pods []Pod) {
	restart, restarted := s.Restarts[workload]
	helped, inVain := false, false
	if restarted {
		for _, pod := range pods {
			if after(pod, restart) {
				helped = helped || !pod.Missing && pod.Ready
				inVain = inVain || pod.Missing
			}
		}
		if helped && !inVain {
			p.Forget = append(p.Forget, workload)
			restarted = false
		}
	}
	for _, pod := range pods {
		switch {
		case !pod.Missing:
		case restarted && after(pod, restart):
			p.Tell = append(p.Tell, Told{pod, ReasonRestartedInVain, fmt.Sprintf("%s; the pod before it was evicted for the same "+
				"reason. %s is not restarted again: look why the injector was not asked, or could not answer", pod.Why, pod.Workload.Name)})
		default:
			p.Tell = append(p.Tell, Told{pod, ReasonHolderMissing, note(pod, s.Consent)})
		}
	}
	if !s.Consent || !s.Able || workload == "" || inVain {
		return
	}
	if restarted {
		p.again(restart, pods)
		return
	}
	for _, pod := range pods {
		if !pod.Missing || !pod.Curable {
			continue
		}
		if age := s.Now.Sub(pod.Created); age < MinAge {
			p.Recheck = min(p.Recheck, MinAge-age)
			return // the others of this workload are younger still
		}
		p.Evict = append(p.Evict, pod)
		p.Tell = append(p.Tell, Told{pod, ReasonRestarting, "it is evicted so that the pod in its place gets a holder"})
		p.Recheck = retryEvery
		return
	}
}

// again evicts once more what could not be evicted; what is ending, or has no successor yet, is waited for.
func (p *Plan) again(restart Restart, pods []Pod) {
	p.Recheck = min(p.Recheck, retryEvery)
	i := slices.IndexFunc(pods, func(pod Pod) bool { return pod.UID == restart.Pod })
	if i >= 0 && pods[i].Missing && pods[i].Curable {
		p.Evict = append(p.Evict, pods[i])
	}
}

// after reports whether the pod was made after the restart. Kubernetes knows whole seconds.
func after(p Pod, r Restart) bool {
	return p.UID != r.Pod && !p.Created.Before(r.At.Truncate(time.Second))
}

// note is what a person is told of a pod without a holder.
func note(p Pod, consent bool) string {
	const safe = "What is held stays held, and nothing is applied on request through this pod"
	switch {
	case !p.Curable:
		return fmt.Sprintf("%s. %s until that is changed; restarting alone does not help", p.Why, safe)
	case p.Workload.UID == "":
		return fmt.Sprintf("%s. %s; nothing makes it anew, so do that by hand", p.Why, safe)
	case consent:
		return fmt.Sprintf("%s. %s; it is restarted when it is a minute old and the injector is ready", p.Why, safe)
	}
	return fmt.Sprintf("%s. %s; restart it, such as with kubectl rollout restart", p.Why, safe)
}
