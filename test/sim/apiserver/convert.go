package apiserver

import (
	"encoding/json"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// into copies found into o, which may be typed, and leaves nothing of what o said before.
func into(found *Object, o client.Object) error {
	if u, ok := o.(*unstructured.Unstructured); ok {
		u.Object = runtime.DeepCopyJSON(found.Object)
		return nil
	}
	t, err := typed(found, reflect.TypeOf(o).Elem())
	if err != nil {
		return err
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(t.DeepCopyObject()).Elem())
	return nil
}

// As returns o as a typed object, to be read only.
func As[T any, P interface {
	*T
	client.Object
}](o *Object) P {
	t, err := typed(o, reflect.TypeFor[T]())
	if err != nil {
		panic(err) // what the server keeps was written as that type
	}
	return t.(P)
}

// read remembers how versions read that were asked for lately, because most are read many times and none ever changes.
var read = struct {
	sync.Mutex
	as map[*Object]client.Object
}{as: map[*Object]client.Object{}}

// typed returns o as a t that everybody shares.
func typed(o *Object, t reflect.Type) (client.Object, error) {
	read.Lock()
	defer read.Unlock()
	if known, ok := read.as[o]; ok && reflect.TypeOf(known).Elem() == t {
		return known, nil
	}
	into := reflect.New(t).Interface().(client.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return nil, err
	}
	if len(read.as) > 1000 {
		clear(read.as)
	}
	read.as[o] = into
	return into, nil
}

// bodyOf returns o as the body of a request.
func bodyOf(o client.Object, k *Kind) (map[string]any, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &Object{Object: raw}
	u.SetGroupVersionKind(k.GVK)
	return wholeNumbers(raw)
}

// wholeNumbers returns body as a server decodes it: whole numbers are int64, and what is null is absent.
func wholeNumbers(body map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, utiljson.Unmarshal(raw, &out)
}

func labelsOf(o *Object) labels.Set { return o.GetLabels() }

// Suspended returns spec.suspend.
func Suspended(o *Object) bool {
	s, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	return s
}
