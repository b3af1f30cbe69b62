package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// decode returns the mapping a document means to a Kubernetes client.
func decode(doc []byte) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON(doc)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(asJSON))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	m, ok := copyValue(v).(map[string]any)
	if !ok {
		return nil, errors.New("the document is not a mapping")
	}
	return m, nil
}

// copyValue returns a deep copy in which every number is an int64, or a float64 where it is no integer.
func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = copyValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copyValue(e)
		}
		return out
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case float32:
		return copyValue(float64(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
		return v
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return copyValue(f)
	}
	return v
}

// sameValue says whether a and b are the same JSON value; numbers compare by value.
func sameValue(a, b any) bool {
	return sameBy(nil, a, b, func(_ Path, a, b any) bool { return copyValue(a) == copyValue(b) })
}

// sameMeaning says whether a and b mean the same to the API server at p: quantities (1000m and 1) and int-or-string
// fields ("80" and 80) compare by meaning, everything else by value.
func sameMeaning(p Path, a, b any) bool {
	return sameBy(p, a, b, func(p Path, a, b any) bool {
		a, b = copyValue(a), copyValue(b)
		switch {
		case a == b:
			return true
		case holdsQuantity(p):
			qa, errA := resource.ParseQuantity(fmt.Sprint(a))
			qb, errB := resource.ParseQuantity(fmt.Sprint(b))
			return errA == nil && errB == nil && qa.Cmp(qb) == 0
		case holdsIntOrString(p):
			return a != nil && b != nil && fmt.Sprint(a) == fmt.Sprint(b)
		}
		return false
	})
}

// sameBy compares collections member by member and leaves the rest to leaf.
func sameBy(p Path, a, b any, leaf func(Path, any, any) bool) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, va := range a {
			vb, ok := b[k]
			if !ok || !sameBy(p.with(Step{Key: k}), va, vb, leaf) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameBy(p, a[i], b[i], leaf) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return leaf(p, a, b)
}

// holdsQuantity says whether the API keeps a resource quantity at p.
func holdsQuantity(p Path) bool {
	if len(p) < 2 {
		return false
	}
	switch p[len(p)-2].Key {
	case "requests", "limits", "capacity", "hard", "podFixed":
		return true
	}
	return p[len(p)-1].Key == "sizeLimit"
}

// holdsIntOrString says whether the API takes a number or a string at p. A string of digits is no valid port name and no
// percentage, so it can only mean its number.
func holdsIntOrString(p Path) bool {
	if len(p) == 0 {
		return false
	}
	switch p[len(p)-1].Key {
	case "targetPort", "port", "maxSurge", "maxUnavailable", "minAvailable":
		return true
	}
	return false
}
