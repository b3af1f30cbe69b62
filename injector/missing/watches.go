package missing

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// syncBound is how long a watch may take to have all pods of its namespace.
const syncBound = time.Minute

// watches are the pods of the namespaces that are labelled, and of no others: one watch each, begun when it is first
// asked for.
type watches struct {
	ctx     context.Context // they end with it
	begin   func(namespace string) (cache.Cache, error)
	changes chan event.GenericEvent // of namespaces with a controller's pod that changed

	mu   sync.Mutex
	open map[string]*watch
}

type watch struct {
	cache cache.Cache
	stop  context.CancelFunc
}

// pods lists the pods of a namespace as its watch has them.
func (w *watches) pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	c, err := w.of(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("watch the pods of %s: %w", namespace, err)
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", namespace, err)
	}
	return pods.Items, nil
}

// of returns the cache of a namespace, filled.
func (w *watches) of(ctx context.Context, namespace string) (cache.Cache, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if open := w.open[namespace]; open != nil {
		return open.cache, nil
	}
	c, err := w.begin(namespace)
	if err != nil {
		return nil, err
	}
	informer, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(w.ctx)
	if _, err := informer.AddEventHandler(w.tell(watching, namespace)); err != nil {
		stop()
		return nil, err
	}
	go func() { _ = c.Start(watching) }() // it returns when it is stopped, and has no other errors
	filled, cancel := context.WithTimeout(ctx, syncBound)
	defer cancel()
	if !c.WaitForCacheSync(filled) {
		stop()
		return nil, fmt.Errorf("they could not be listed within %s", syncBound)
	}
	w.open[namespace] = &watch{c, stop}
	return c, nil
}

// tell sends the namespace on when a controller's pod changes. strip leaves no other pod a container.
func (w *watches) tell(watching context.Context, namespace string) toolscache.ResourceEventHandler {
	changed := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && len(pod.Spec.Containers) == 0 {
			return
		}
		e := event.GenericEvent{Object: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
		select {
		case w.changes <- e:
		case <-watching.Done():
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, next any) { changed(next) }, DeleteFunc: changed}
}

// end stops the watch of a namespace; one that is not watched is no error.
func (w *watches) end(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if open := w.open[namespace]; open != nil {
		open.stop()
		delete(w.open, namespace)
	}
}
