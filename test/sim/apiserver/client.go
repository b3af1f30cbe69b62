package apiserver

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Index finds objects of one kind by what they refer to, as an informer's index does.
type Index struct {
	Of    schema.GroupVersionKind
	Field string
	Keys  client.IndexerFunc
}

// Client is a controller-runtime client of a Server. It reads from Cache, where there is one and it holds the kind, and
// from the server otherwise. Only what is listed in the methods below is there; anything else panics.
type Client struct {
	client.Client // nil; keeps the interface whole

	Server  *Server
	Cache   *Cache // nil: every read is live
	Indexes []Index
	Types   *runtime.Scheme

	// Reading is asked before each live read, Writing carries each write out. Either may give way to others, and fail.
	// nil: nothing comes between.
	Reading func(what string) error
	Writing func(w Write, do func() (*Object, error)) (*Object, error)
}

var _ client.Client = &Client{}

// Scheme returns the types objects are read into.
func (c *Client) Scheme() *runtime.Scheme { return c.Types }

// Get reads one object into o.
func (c *Client) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	k, err := c.kind(o)
	if err != nil {
		return err
	}
	read := c.Server.Get
	if c.Cache != nil && c.Cache.Holds(k) {
		read = c.Cache.Get
	} else if c.Reading != nil {
		if err := c.Reading("get " + k.GVK.Kind); err != nil {
			return err
		}
	}
	found, err := read(k, key)
	if err != nil {
		return err
	}
	return into(found, o)
}

// List reads all objects of a kind that the options let through.
func (c *Client) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	gvk, err := apiutil.GVKForObject(list, c.Types)
	if err != nil {
		return err
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	k, err := c.Server.Kind(gvk)
	if err != nil {
		return err
	}
	read, cached := c.Server.List, c.Cache != nil && c.Cache.Holds(k)
	if cached {
		read = c.Cache.List
	} else if c.Reading != nil {
		if err := c.Reading("list " + k.GVK.Kind); err != nil {
			return err
		}
	}
	var items []runtime.Object
	for _, found := range read(k) {
		if o.Namespace != "" && found.GetNamespace() != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labelsOf(found)) {
			continue
		}
		typed, err := c.Types.New(gvk)
		if err != nil {
			return err
		}
		if err := into(found, typed.(client.Object)); err != nil {
			return err
		}
		if o.FieldSelector != nil {
			in, err := c.selects(gvk, o.FieldSelector, typed.(client.Object), cached)
			if err != nil {
				return err
			}
			if !in {
				continue
			}
		}
		items = append(items, typed)
	}
	return meta.SetList(list, items)
}

// selects says that the object has what the selector asks for; only a cache has indexes.
func (c *Client) selects(gvk schema.GroupVersionKind, s fields.Selector, o client.Object, cached bool) (bool, error) {
	if !cached {
		return false, fmt.Errorf("the API server has no field selector %s for %s", s, gvk.Kind)
	}
	for _, want := range s.Requirements() {
		found, known := false, false
		for _, ix := range c.Indexes {
			if ix.Of != gvk || ix.Field != want.Field {
				continue
			}
			known = true
			for _, v := range ix.Keys(o) {
				found = found || v == want.Value
			}
		}
		switch {
		case !known:
			return false, fmt.Errorf("no index %s of %s; add it to the simulated client", want.Field, gvk.Kind)
		case !found:
			return false, nil
		}
	}
	return true, nil
}

// Create makes o, and fills it in with what the server made of it.
func (c *Client) Create(_ context.Context, o client.Object, opts ...client.CreateOption) error {
	k, err := c.kind(o)
	if err != nil {
		return err
	}
	body, err := bodyOf(o, k)
	if err != nil {
		return err
	}
	options := (&client.CreateOptions{}).ApplyOptions(opts)
	return c.write(o, Write{Verb: Create, Kind: k, Key: client.ObjectKeyFromObject(o), Manager: options.FieldManager, Body: body})
}

// Delete deletes o.
func (c *Client) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	k, err := c.kind(o)
	if err != nil {
		return err
	}
	return c.write(nil, Write{Verb: Delete, Kind: k, Key: client.ObjectKeyFromObject(o)})
}

// Update replaces o.
func (c *Client) Update(_ context.Context, o client.Object, opts ...client.UpdateOption) error {
	k, err := c.kind(o)
	if err != nil {
		return err
	}
	body, err := bodyOf(o, k)
	if err != nil {
		return err
	}
	options := (&client.UpdateOptions{}).ApplyOptions(opts)
	return c.write(o, Write{Verb: Update, Kind: k, Key: client.ObjectKeyFromObject(o), Manager: options.FieldManager, Body: body})
}

// Patch carries out a JSON merge patch.
func (c *Client) Patch(_ context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	options := (&client.PatchOptions{}).ApplyOptions(opts)
	return c.patch(o, p, options.FieldManager, false)
}

// Apply is server-side apply.
func (c *Client) Apply(_ context.Context, a runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	return c.apply(a, options.FieldManager, options.Force != nil && *options.Force, false)
}

// Status writes the status subresource.
func (c *Client) Status() client.SubResourceWriter { return status{c: c} }

type status struct {
	client.SubResourceWriter // nil; keeps the interface whole

	c *Client
}

func (s status) Patch(_ context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	return s.c.patch(o, p, options.FieldManager, true)
}

func (s status) Apply(_ context.Context, a runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	options := (&client.SubResourceApplyOptions{}).ApplyOpts(opts)
	return s.c.apply(a, options.FieldManager, options.Force != nil && *options.Force, true)
}

func (c *Client) patch(o client.Object, p client.Patch, manager string, status bool) error {
	if p.Type() != types.MergePatchType {
		return fmt.Errorf("the simulated API server takes no %s", p.Type())
	}
	k, err := c.kind(o)
	if err != nil {
		return err
	}
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		return err
	}
	body, err = wholeNumbers(body)
	if err != nil {
		return err
	}
	return c.write(o, Write{Verb: Patch, Kind: k, Key: client.ObjectKeyFromObject(o), Status: status, Manager: manager, Body: body})
}

func (c *Client) apply(a runtime.ApplyConfiguration, manager string, force, status bool) error {
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	if err != nil {
		return err
	}
	u := &Object{Object: body}
	k, err := c.Server.Kind(u.GroupVersionKind())
	if err != nil {
		return err
	}
	got, err := c.carryOut(Write{Verb: Apply, Kind: k, Key: client.ObjectKeyFromObject(u), Status: status, Manager: manager, Force: force, Body: body})
	if answered, ok := a.(interface{ SetUnstructuredContent(map[string]any) }); ok && err == nil && got != nil {
		answered.SetUnstructuredContent(runtime.DeepCopyJSON(got.Object))
	}
	return err
}

// write carries the write out and reads the answer into o, unless o is nil.
func (c *Client) write(o client.Object, w Write) error {
	got, err := c.carryOut(w)
	if err != nil || o == nil || got == nil {
		return err
	}
	return into(got, o)
}

func (c *Client) carryOut(w Write) (*Object, error) {
	do := func() (*Object, error) { return c.Server.Do(w) }
	if c.Writing == nil {
		return do()
	}
	return c.Writing(w, do)
}

func (c *Client) kind(o runtime.Object) (*Kind, error) {
	gvk, err := apiutil.GVKForObject(o, c.Types)
	if err != nil {
		return nil, err
	}
	return c.Server.Kind(gvk)
}
