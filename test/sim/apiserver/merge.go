package apiserver

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// manager returns the one that keeps ownership for this sort of write.
func (k *Kind) manager(w Write) *managedfields.FieldManager {
	if w.Status {
		return k.status
	}
	return k.main
}

// apply is server-side apply.
func (k *Kind) apply(live *Object, w Write) (*Object, error) {
	body := &Object{Object: runtime.DeepCopyJSON(w.Body)}
	if k.manager(w) == nil {
		return nil, apierrors.NewNotFound(k.GroupResource(), w.Key.Name)
	}
	next, err := k.manager(w).Apply(live, body, w.Manager, w.Force)
	if err != nil {
		if apierrors.IsConflict(err) {
			return nil, err
		}
		return nil, fmt.Errorf("apply: %w", err)
	}
	o := next.(*Object)
	// The two that guard a write travel in the body and are owned by nobody.
	o.SetResourceVersion(body.GetResourceVersion())
	if body.GetUID() != "" {
		o.SetUID(body.GetUID())
	}
	return o, nil
}

// update is a create or a JSON merge patch.
func (k *Kind) update(live *Object, w Write) (*Object, error) {
	next := live.DeepCopy()
	next.SetResourceVersion("")
	next.Object = overlay(next.Object, runtime.DeepCopyJSON(w.Body)).(map[string]any)
	return k.own(live, next, w)
}

// replace is an update as a whole.
func (k *Kind) replace(live *Object, w Write) (*Object, error) {
	return k.own(live, &Object{Object: runtime.DeepCopyJSON(w.Body)}, w)
}

// own works out who owns what after an update to next.
func (k *Kind) own(live, next *Object, w Write) (*Object, error) {
	if k.manager(w) == nil {
		return nil, apierrors.NewNotFound(k.GroupResource(), w.Key.Name)
	}
	rv := next.GetResourceVersion()
	owned, err := k.manager(w).Update(live, next, w.Manager)
	if err != nil {
		return nil, fmt.Errorf("own: %w", err)
	}
	o := owned.(*Object)
	o.SetResourceVersion(rv)
	return o, nil
}

// overlay is RFC 7396.
func overlay(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for key, value := range p {
		if value == nil {
			delete(t, key)
			continue
		}
		t[key] = overlay(t[key], value)
	}
	return t
}

// fillIn sets the schema's defaults in spec where nothing is said.
func (k *Kind) fillIn(o *Object) {
	if k.schema == nil {
		return
	}
	spec, ok := k.schema.Properties["spec"]
	if in, is := o.Object["spec"].(map[string]any); ok && is {
		fill(&spec, in)
	}
}

func fill(s *spec.Schema, in map[string]any) {
	for name, p := range s.Properties {
		if _, there := in[name]; !there && p.Default != nil {
			in[name] = plainJSON(p.Default)
		}
		if deeper, is := in[name].(map[string]any); is {
			fill(&p, deeper)
		}
	}
}

// plainJSON returns v with numbers as an unstructured object holds them.
func plainJSON(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	wrapped := map[string]any{}
	if err := json.Unmarshal([]byte(`{"v":`+string(raw)+`}`), &wrapped); err != nil {
		panic(err)
	}
	return runtime.DeepCopyJSONValue(wrapped["v"])
}
