package flux

import (
	"fmt"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
	"github.com/holdfast-gitops/holdfast/test/sim/turn"
)

// Env is what the controllers stand on.
type Env struct {
	Client apiserver.Client // without a cache; each process gets its own
	Now    func() time.Time
	Repo   *Repo
	Truth  *Truth

	// Healthy says that what was applied has become ready. nil: at once.
	Healthy func() bool

	// CancelHealthCheckOnNewRevision is kustomize-controller's feature gate of that name.
	CancelHealthCheckOnNewRevision bool
}

// Step is something that can happen now.
type Step struct {
	What string
	Do   func()
}

// kind returns the kind, which the server must have.
func (e *Env) kind(gvk string) *apiserver.Kind {
	gv := kustomizev1.GroupVersion
	if gvk == sourcev1.GitRepositoryKind {
		gv = sourcev1.GroupVersion
	}
	k, err := e.Client.Server.Kind(gv.WithKind(gvk))
	if err != nil {
		panic(err)
	}
	return k
}

// Kustomize is one process of kustomize-controller that leads, or has led.
type Kustomize struct {
	Env
	Name string // of its pod

	kustomizations, sources *apiserver.Kind
	cache                   *apiserver.Cache
	queue                   *queue
	runs                    map[types.NamespacedName]*turn.Task
	truths                  map[types.NamespacedName]*run
	order                   []types.NamespacedName // of runs
	canceled                map[types.NamespacedName]bool
	retired                 bool
}

// NewKustomize starts a process: it lists what there is and reconciles each Kustomization once.
func NewKustomize(e Env, name string) *Kustomize {
	k := &Kustomize{Env: e, Name: name, queue: newQueue(), runs: map[types.NamespacedName]*turn.Task{}, truths: map[types.NamespacedName]*run{}, canceled: map[types.NamespacedName]bool{}}
	k.kustomizations, k.sources = e.kind(kustomizev1.KustomizationKind), e.kind(sourcev1.GitRepositoryKind)
	k.cache = e.Client.Server.NewCache(k.kustomizations, k.sources)
	k.Client.Cache = k.cache
	for _, o := range k.cache.List(k.kustomizations) {
		k.queue.add(keyOf(o), e.Now())
	}
	return k
}

// Retire makes the process one that has lost its lease without knowing: it starts nothing more, and what it is in the
// middle of goes on.
func (k *Kustomize) Retire() { k.retired = true }

// Kill is kill -9.
func (k *Kustomize) Kill() {
	for _, key := range k.order {
		k.runs[key].Kill()
		if t := k.truths[key].truth; t != nil {
			t.Killed = true
		}
	}
	k.runs, k.order, k.queue, k.retired = map[types.NamespacedName]*turn.Task{}, nil, newQueue(), true
}

// Busy says that a run is going on.
func (k *Kustomize) Busy() bool { return len(k.order) > 0 }

// Fresh says that the process knows of every GitRepository what the API server has.
func (k *Kustomize) Fresh() bool { return k.cache.Behind(k.sources) == 0 }

// Steps returns what can happen in the process now.
func (k *Kustomize) Steps() []Step {
	var steps []Step
	now := k.Now()
	for _, kind := range k.cache.Kinds() {
		if !k.retired && k.cache.Behind(kind) > 0 {
			steps = append(steps, Step{k.Name + " sees a change of a " + kind.GVK.Kind, func() { k.deliver(kind) }})
		}
	}
	for _, key := range k.order {
		if t := k.runs[key]; t.ReadyAt(now) {
			steps = append(steps, Step{k.Name + " " + t.Next(), func() { k.goOn(key) }})
		}
	}
	for _, key := range k.queue.keys() {
		if !k.retired && k.runs[key] == nil && !k.queue.due[key].After(now) {
			steps = append(steps, Step{fmt.Sprintf("%s reconciles %s", k.Name, key), func() { k.start(key) }})
		}
	}
	return steps
}

// Wake returns when something can happen next without anybody's doing; zero: never.
func (k *Kustomize) Wake() time.Time {
	var wake time.Time
	earlier := func(t time.Time) {
		if !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	for _, key := range k.order {
		earlier(k.runs[key].Until())
	}
	for _, key := range k.queue.keys() {
		if !k.retired && k.runs[key] == nil {
			earlier(k.queue.due[key])
		}
	}
	return wake
}

// deliver takes in one change and queues what it concerns (kustomization_manager.go, kustomization_indexers.go).
func (k *Kustomize) deliver(kind *apiserver.Kind) {
	c, ok := k.cache.Advance(kind)
	switch {
	case !ok:
	case kind == k.kustomizations && wakes(c):
		k.enqueue(c.Key)
	case kind == k.sources && sourceMoved(c):
		k.enqueueConsumers(c)
	}
}

// wakes is Or(GenerationChangedPredicate, ReconcileRequestedPredicate).
func wakes(c apiserver.Change) bool {
	if c.Old == nil || c.New == nil || c.Old.GetGeneration() != c.New.GetGeneration() {
		return true
	}
	now, set := c.New.GetAnnotations()[meta.ReconcileRequestAnnotation]
	return set && now != c.Old.GetAnnotations()[meta.ReconcileRequestAnnotation]
}

// sourceMoved is SourceRevisionChangePredicate, whose other events all pass.
func sourceMoved(c apiserver.Change) bool {
	if c.Old == nil || c.New == nil {
		return true
	}
	was, is := artifactOf(c.Old), artifactOf(c.New)
	return is != "" && was != is
}

// enqueueConsumers is requestsForRevisionChangeOf.
func (k *Kustomize) enqueueConsumers(c apiserver.Change) {
	if c.New == nil || artifactOf(c.New) == "" {
		return
	}
	for _, o := range k.cache.List(k.kustomizations) {
		ks := apiserver.As[kustomizev1.Kustomization](o)
		if sourceOf(ks) != c.Key {
			continue
		}
		busy := apimeta.IsStatusConditionTrue(ks.Status.Conditions, meta.ReadyCondition) ||
			apimeta.IsStatusConditionTrue(ks.Status.Conditions, meta.ReconcilingCondition)
		if !busy || ks.Status.LastAttemptedRevision != artifactOf(c.New) {
			k.enqueue(keyOf(o))
		}
	}
}

func (k *Kustomize) enqueue(key types.NamespacedName) {
	k.queue.add(key, k.Now())
	k.canceled[key] = k.CancelHealthCheckOnNewRevision && k.runs[key] != nil
}

// start hands a key out to a worker.
func (k *Kustomize) start(key types.NamespacedName) {
	k.queue.take(key)
	k.canceled[key] = false
	r := &run{Kustomize: k, key: key}
	k.runs[key], k.truths[key] = turn.Begin("starts", r.work), r
	k.order = append(k.order, key)
	k.goOn(key)
}

// goOn lets the run of the key have its next effect.
func (k *Kustomize) goOn(key types.NamespacedName) {
	t := k.runs[key]
	t.Go()
	if t.Ended() {
		delete(k.runs, key)
		k.order = slices.DeleteFunc(k.order, func(o types.NamespacedName) bool { return o == key })
	}
}

func keyOf(o *apiserver.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func sourceOf(ks *kustomizev1.Kustomization) types.NamespacedName {
	ref := ks.Spec.SourceRef
	if ref.Namespace == "" {
		return types.NamespacedName{Namespace: ks.Namespace, Name: ref.Name}
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// artifactOf returns the revision of the artifact a GitRepository has; empty when there is none.
func artifactOf(o *apiserver.Object) string {
	g := apiserver.As[sourcev1.GitRepository](o)
	if g.Status.Artifact == nil {
		return ""
	}
	return g.Status.Artifact.Revision
}
