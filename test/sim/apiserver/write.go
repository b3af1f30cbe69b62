package apiserver

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Verb is a kind of write.
type Verb string

// The writes there are.
const (
	Create Verb = "create"
	Apply  Verb = "apply" // server-side apply
	Update Verb = "update"
	Patch  Verb = "patch" // JSON merge patch
	Delete Verb = "delete"
)

// Write is one request that changes something. It is a value, so that a request may arrive late.
type Write struct {
	Verb    Verb
	Kind    *Kind
	Key     types.NamespacedName
	Status  bool   // the status subresource
	Manager string // field manager
	Force   bool   // Apply only: take what others own
	Body    map[string]any
}

// Do carries out the write and returns the new version; nil for an object that is gone now.
func (s *Server) Do(w Write) (*Object, error) {
	live := s.objects[w.Kind][w.Key]
	switch w.Verb {
	case Create:
		if live != nil {
			return nil, apierrors.NewAlreadyExists(w.Kind.GroupResource(), w.Key.Name)
		}
		return s.create(w, (*Kind).update)
	case Delete:
		return s.delete(w, live)
	case Apply:
		if live == nil {
			return s.createByApply(w)
		}
		return s.change(w, live, (*Kind).apply)
	}
	switch {
	case live == nil:
		return nil, apierrors.NewNotFound(w.Kind.GroupResource(), w.Key.Name)
	case w.Verb == Update:
		return s.change(w, live, (*Kind).replace)
	}
	return s.change(w, live, (*Kind).update)
}

// merge returns what w makes of live, with the ownership that follows from it.
type merge func(k *Kind, live *Object, w Write) (*Object, error)

// createByApply makes the object, unless the writer named the one it meant: that one is gone.
func (s *Server) createByApply(w Write) (*Object, error) {
	body := Object{Object: w.Body}
	switch {
	case w.Status:
		return nil, apierrors.NewNotFound(w.Kind.GroupResource(), w.Key.Name)
	case body.GetUID() != "":
		return nil, apierrors.NewConflict(w.Kind.GroupResource(), w.Key.Name, fmt.Errorf("uid mismatch: the object %s is gone", body.GetUID()))
	}
	return s.create(w, (*Kind).apply)
}

func (s *Server) create(w Write, how merge) (*Object, error) {
	empty, _ := plain{}.New(w.Kind.GVK)
	next, err := how(w.Kind, empty.(*Object), w)
	if err != nil {
		return nil, err
	}
	s.uids++
	next.SetName(w.Key.Name)
	next.SetNamespace(w.Key.Namespace)
	next.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	next.SetCreationTimestamp(s.stamp())
	next.SetGeneration(1)
	if w.Kind.status != nil {
		delete(next.Object, "status")
	}
	w.Kind.fillIn(next)
	s.date(nil, next)
	s.commit(w.Kind, w.Key, nil, next, w)
	return next, nil
}

// change carries out an update of any sort. One that changes nothing makes no new version.
func (s *Server) change(w Write, live *Object, how merge) (*Object, error) {
	next, err := how(w.Kind, live, w)
	if err != nil {
		return nil, err
	}
	if rv := next.GetResourceVersion(); rv != "" && rv != live.GetResourceVersion() {
		return nil, apierrors.NewConflict(w.Kind.GroupResource(), w.Key.Name, fmt.Errorf("the object has been modified: resourceVersion is %s, not %s", live.GetResourceVersion(), rv))
	}
	if errs := immutable(live, next); len(errs) > 0 {
		return nil, apierrors.NewInvalid(w.Kind.GVK.GroupKind(), w.Key.Name, errs)
	}
	keep(w, live, next)
	if !w.Status {
		w.Kind.fillIn(next)
		if !apiequality.Semantic.DeepEqual(live.Object["spec"], next.Object["spec"]) {
			next.SetGeneration(live.GetGeneration() + 1)
		}
	}
	s.date(live, next)
	if apiequality.Semantic.DeepEqual(live.Object, next.Object) {
		return live, nil
	}
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 {
		s.commit(w.Kind, w.Key, live, nil, w)
		return nil, nil
	}
	s.commit(w.Kind, w.Key, live, next, w)
	return next, nil
}

// delete removes the object, or marks it when finalizers keep it.
func (s *Server) delete(w Write, live *Object) (*Object, error) {
	switch {
	case live == nil:
		return nil, apierrors.NewNotFound(w.Kind.GroupResource(), w.Key.Name)
	case len(live.GetFinalizers()) == 0:
		s.commit(w.Kind, w.Key, live, nil, w)
		return nil, nil
	case live.GetDeletionTimestamp() != nil:
		return live, nil
	}
	next := live.DeepCopy()
	at, grace := s.stamp(), int64(0)
	next.SetDeletionTimestamp(&at)
	next.SetDeletionGracePeriodSeconds(&grace)
	next.SetGeneration(live.GetGeneration() + 1)
	s.commit(w.Kind, w.Key, live, next, w)
	return next, nil
}

// immutable returns what no update may do to metadata.
func immutable(live, next *Object) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata")
	if next.GetUID() != live.GetUID() {
		errs = append(errs, field.Invalid(path.Child("uid"), next.GetUID(), "field is immutable"))
	}
	if live.GetDeletionTimestamp() != nil {
		for _, f := range next.GetFinalizers() {
			if !slices.Contains(live.GetFinalizers(), f) {
				errs = append(errs, field.Forbidden(path.Child("finalizers"), "no new finalizers can be added if the object is being deleted, found new finalizer "+f))
			}
		}
	}
	return errs
}

// keep puts back what this sort of write may not touch.
func keep(w Write, live, next *Object) {
	is, was := metadataOf(next), metadataOf(live)
	if w.Status {
		owners := is["managedFields"]
		is = runtime.DeepCopyJSON(was)
		is["managedFields"] = owners
		next.Object = map[string]any{
			"apiVersion": live.Object["apiVersion"], "kind": live.Object["kind"],
			"metadata": is, "spec": live.Object["spec"], "status": next.Object["status"],
		}
	} else if w.Kind.status != nil {
		next.Object["status"] = live.Object["status"]
	}
	for _, part := range []string{"spec", "status"} {
		if next.Object[part] == nil {
			delete(next.Object, part)
		}
	}
	for _, field := range []string{"resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		is[field] = was[field]
		if is[field] == nil {
			delete(is, field)
		}
	}
}

// date gives each entry of managedFields the time it had, or now when what it says is new: the code that made it reads the
// machine's clock.
func (s *Server) date(live, next *Object) {
	var before []any
	if live != nil {
		before, _ = metadataOf(live)["managedFields"].([]any)
	}
	entries, _ := metadataOf(next)["managedFields"].([]any)
	for _, e := range entries {
		entry := e.(map[string]any)
		entry["time"] = s.stamp().Format(time.RFC3339)
		for _, b := range before {
			was := b.(map[string]any)
			if was["manager"] == entry["manager"] && was["operation"] == entry["operation"] && was["subresource"] == entry["subresource"] &&
				reflect.DeepEqual(was["fieldsV1"], entry["fieldsV1"]) {
				entry["time"] = was["time"]
			}
		}
	}
}

func metadataOf(o *Object) map[string]any { return o.Object["metadata"].(map[string]any) }
