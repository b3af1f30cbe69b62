package apiserver

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// plain converts, defaults and creates as a server does that knows one version of each kind.
type plain struct{}

var (
	_ runtime.ObjectConvertor = plain{}
	_ runtime.ObjectDefaulter = plain{}
	_ runtime.ObjectCreater   = plain{}
)

func (plain) Convert(_, _, _ any) error { return errors.New("there is nothing to convert") }

func (plain) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (plain) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (plain) Default(runtime.Object) {}

func (plain) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
