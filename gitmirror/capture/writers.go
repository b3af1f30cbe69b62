package capture

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// applierManager is the field manager kustomize-controller applies objects with.
const applierManager = "kustomize-controller"

// bookkeeping are entries the API server makes by itself while somebody else writes.
var bookkeeping = map[string]bool{"before-first-apply": true, "ancient-changes": true}

// writers are the field managers that wrote an object between two states, sorted.
type writers []string

// applierAlone says whether kustomize-controller is the only one.
func (w writers) applierAlone() bool { return len(w) == 1 && w[0] == applierManager }

// entryKey tells the managedFields entries of an object apart.
type entryKey struct{ manager, operation, apiVersion, subresource string }

// writersBetween returns who wrote new since old; old is nil for a new object.
//
// An entry belongs to a writer when it is new, when its time moved, or when it owns fields it did not own: the API server
// stamps the entry of whoever sets a field. One that only lost fields, or is gone, lost them to somebody, and that may be
// a request that left no entry of its own: an update that only removes fields, as an undo does. So the result can be
// empty, and then nobody is said to have written. Times are whole seconds; two writes of one manager within one leave no
// trace either.
func writersBetween(old, new *unstructured.Unstructured) writers {
	before := map[entryKey]map[string]any{}
	if old != nil {
		before = entries(old)
	}
	found := map[string]bool{}
	for key, entry := range entries(new) {
		was, known := before[key]
		if key.subresource == "status" || bookkeeping[key.manager] {
			continue
		}
		if !known || was["time"] != entry["time"] || gained(was["fieldsV1"], entry["fieldsV1"]) {
			found[key.manager] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// entries returns an object's managedFields by their keys. It reads them as they are: converting them copies them all.
func entries(obj *unstructured.Unstructured) map[entryKey]map[string]any {
	meta, _ := obj.Object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	out := make(map[entryKey]map[string]any, len(list))
	for _, v := range list {
		entry, _ := v.(map[string]any)
		word := func(field string) string {
			s, _ := entry[field].(string)
			return s
		}
		out[entryKey{word("manager"), word("operation"), word("apiVersion"), word("subresource")}] = entry
	}
	return out
}

// gained says whether a set of fields, in the form of fieldsV1, has one the other lacked.
func gained(old, new any) bool {
	was, _ := old.(map[string]any)
	is, _ := new.(map[string]any)
	for field, below := range is {
		before, ok := was[field]
		if !ok || gained(before, below) {
			return true
		}
	}
	return false
}
