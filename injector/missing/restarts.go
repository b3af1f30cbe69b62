package missing

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	accore "k8s.io/client-go/applyconfigurations/core/v1"
	acmeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recordName is the ConfigMap in which restarts are written down. It is there only once there was one.
const recordName = "holdfast-injector-restarts"

// restarts are what the injector evicted last in each workload. Only the leader writes them, so it reads them once.
type restarts struct {
	client client.Client
	live   client.Reader
	own    string
	owner  func() *metav1.OwnerReference

	read bool
	all  map[types.UID]record
}

// record is a restart as it is written down, under the uid of the workload.
type record struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"` // for a person
	Restart
}

// of returns the restarts in a namespace.
func (r *restarts) of(ctx context.Context, namespace string) (map[types.UID]Restart, error) {
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	found := map[types.UID]Restart{}
	for workload, rec := range r.all {
		if rec.Namespace == namespace {
			found[workload] = rec.Restart
		}
	}
	return found, nil
}

func (r *restarts) load(ctx context.Context) error {
	if r.read {
		return nil
	}
	var c corev1.ConfigMap
	err := r.live.Get(ctx, types.NamespacedName{Namespace: r.own, Name: recordName}, &c)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the ConfigMap %s/%s: %w", r.own, recordName, err)
	}
	all := map[types.UID]record{}
	for workload, text := range c.Data {
		var rec record
		if err := json.Unmarshal([]byte(text), &rec); err != nil {
			return fmt.Errorf("the ConfigMap %s/%s does not say what was restarted under %s: delete it, and at most one pod of each workload is restarted again", r.own, recordName, workload)
		}
		all[types.UID(workload)] = rec
	}
	r.all, r.read = all, true
	return nil
}

// write records what the plan evicts and drops what it forgets. It writes nothing when that changes nothing. of was
// called before.
func (r *restarts) write(ctx context.Context, namespace string, p Plan, now time.Time) error {
	next := maps.Clone(r.all)
	for _, workload := range p.Forget {
		delete(next, workload)
	}
	for _, pod := range p.Evict {
		if next[pod.Workload.UID].Pod != pod.UID { // else it is tried again
			next[pod.Workload.UID] = record{namespace, pod.Workload.Name, Restart{Pod: pod.UID, At: now}}
		}
	}
	if maps.Equal(next, r.all) {
		return nil
	}
	data := map[string]string{}
	for workload, rec := range next {
		text, err := json.Marshal(rec)
		if err != nil {
			return err
		}
		data[string(workload)] = string(text)
	}
	owner := r.owner()
	if owner == nil {
		return fmt.Errorf("write the ConfigMap %s/%s: there is no webhook configuration that it could belong to", r.own, recordName)
	}
	c := accore.ConfigMap(recordName, r.own).WithData(data).WithOwnerReferences(
		acmeta.OwnerReference().WithAPIVersion(owner.APIVersion).WithKind(owner.Kind).WithName(owner.Name).WithUID(owner.UID))
	if err := r.client.Apply(ctx, c, client.FieldOwner(controllerName), client.ForceOwnership); err != nil {
		return fmt.Errorf("write the ConfigMap %s/%s: %w", r.own, recordName, err)
	}
	r.all = next
	return nil
}
