package leader

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The controller's Lease is read, the holder's own is written; RBAC cannot tell the two apart by name.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=flux-system,resources=leases,verbs=get;list;watch;create;patch;delete

// Watcher knows the present State. Its methods may be called from any goroutine.
type Watcher struct {
	pod     string // of this holder and its kustomize-controller
	off     bool
	lease   types.NamespacedName
	begin   time.Time // carries the monotonic clock
	changes chan event.GenericEvent

	mu      sync.Mutex
	seen    observation
	version string      // resourceVersion of what was seen last
	wait    *time.Timer // until one Lease has passed since the last change
}

// Off is a Watcher without an election: the one kustomize-controller leads.
func Off() *Watcher {
	return &Watcher{off: true, begin: time.Now(), changes: make(chan event.GenericEvent)}
}

// Watch returns a Watcher for the holder in pod that reads lease through informers, which Only has told to watch that Lease
// alone. It returns at once; until the informers are filled nobody leads.
func Watch(ctx context.Context, informers cache.Informers, lease types.NamespacedName, pod string) (*Watcher, error) {
	w := &Watcher{pod: pod, lease: lease, begin: time.Now(), changes: make(chan event.GenericEvent, 1)}
	informer, err := informers.GetInformer(ctx, &coordinationv1.Lease{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch the Lease of kustomize-controller: %w", err)
	}
	logger := log.FromContext(ctx)
	read := func(o any) {
		lease, ok := o.(*coordinationv1.Lease)
		if ok && w.read(lease) {
			s := w.State()
			logger.Info("another leader", "controller", s.Controller, "leads", s.Leads)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    read,
		UpdateFunc: func(_, o any) { read(o) },
		DeleteFunc: func(any) { read(&coordinationv1.Lease{}) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch the Lease of kustomize-controller: %w", err)
	}
	return w, nil
}

// Only makes a cache keep one Lease, and none of the many others of a cluster.
func Only(lease types.NamespacedName) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&coordinationv1.Lease{}: {
		Namespaces: map[string]cache.Config{lease.Namespace: {}},
		Field:      fields.OneTermEqualSelector("metadata.name", lease.Name),
	}}
}

// State is who leads now.
func (w *Watcher) State() State {
	at := time.Since(w.begin)
	if w.off {
		return State{Leads: true, Since: at}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.state(w.pod, at)
}

// Look reads the Lease from live, so that State is not older than what the caller has read before: the informer may not
// have seen yet who wrote it. Without an election it does nothing.
func (w *Watcher) Look(ctx context.Context, live client.Reader) error {
	if w.off {
		return nil
	}
	var lease coordinationv1.Lease
	if err := client.IgnoreNotFound(live.Get(ctx, w.lease, &lease)); err != nil {
		return fmt.Errorf("read the Lease of kustomize-controller: %w", err)
	}
	w.read(&lease)
	return nil
}

// Changes receives when State is another one for every trigger: when somebody else leads, and again when one Lease has
// passed since. What comes while nobody receives comes once.
func (w *Watcher) Changes() <-chan event.GenericEvent { return w.changes }

// read takes what the Lease says and reports whether somebody else leads by it.
func (w *Watcher) read(lease *coordinationv1.Lease) bool {
	var identity string
	var duration time.Duration
	if p := lease.Spec.HolderIdentity; p != nil {
		identity = *p
	}
	if p := lease.Spec.LeaseDurationSeconds; p != nil {
		duration = time.Duration(*p) * time.Second
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if newer, err := resourceversion.CompareResourceVersion(w.version, lease.ResourceVersion); err == nil && newer > 0 {
		return false // the informer tells late of what Look has seen the end of
	}
	w.version = lease.ResourceVersion
	at := time.Since(w.begin)
	next, changed := w.seen.next(identity, duration, at)
	w.seen = next
	if !changed {
		return false
	}
	if w.wait != nil {
		w.wait.Stop()
	}
	w.wait = time.AfterFunc(next.state(w.pod, at).Lease, w.wake)
	w.wake()
	return true
}

// wake never waits: an event that nobody has received yet stands for this one too.
func (w *Watcher) wake() {
	select {
	case w.changes <- event.GenericEvent{Object: &coordinationv1.Lease{}}:
	default:
	}
}
