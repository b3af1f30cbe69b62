package chart

import (
	"strings"
	"testing"
)

// names are the fields in which an object is named, in the objects of the chart.
var names = map[string]bool{
	"name": true, "namespace": true, "secretName": true, "claimName": true, "storageClassName": true, "priorityClassName": true, "clusterIP": true, "image": true,
}

// notText calls found with the path of every name in value that is not a text.
func notText(value any, path string, found func(path string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if _, text := inner.(string); names[key] && !text {
				if _, nested := inner.(map[string]any); !nested {
					found(path+"."+key, inner)
				}
			}
			notText(inner, path+"."+key, found)
		}
	case []any:
		for _, inner := range v {
			notText(inner, path+"[]", found)
		}
	}
}

func TestANameThatYAMLWouldTakeForSomethingElseStaysAName(t *testing.T) {
	for _, name := range []string{"123", "007", "1e3", "0x1f", "true", "no", "on", "null"} {
		t.Run(name, func(t *testing.T) {
			data := values{"persistent": true, "existingClaim": name}
			v := values{
				"flux":             values{"namespace": name, "serviceAccount": name},
				"argocd":           values{"enabled": true, "namespace": name, "serviceAccount": name},
				"fence":            values{"mode": "Deny"},
				"imagePullSecrets": []any{values{"name": name}},
				"injector":         values{"priorityClassName": name},
				"gitmirror":        values{"reads": values{"clusterRole": name, "namespaces": []any{name}}, "audit": values{"secretName": name, "tokenSecretName": name}, "data": data},
				"networkPolicy":    values{"enabled": true, "holder": true},
				"kubeProvider":     values{"default": values{"enabled": true}},
				"uninstall":        values{"priorityClassName": name},
			}
			o := install
			o.Namespace, o.Name = name, name
			check := func() {
				t.Helper()
				for at, object := range all(t, mustRender(t, v, o)) {
					notText(object.Object, "", func(path string, value any) { t.Errorf("%s%s is %v, which is no text", at, path, value) })
				}
			}
			check()
			delete(data, "existingClaim")
			data["storageClassName"] = name
			check()
		})
	}
}

func TestAValueThatIsTakenAwayIsNoRiddle(t *testing.T) {
	for _, l := range leaves(t) {
		if _, err := render(t, nested(l.path, nil), install); err != nil && !strings.Contains(err.Error(), l.path[len(l.path)-1]) {
			t.Errorf("%s: null is refused, and the error does not name it: %v", l, err)
		}
	}
}

func TestWhatNoAPIServerTakesForAnImageOrAUserIsRefused(t *testing.T) {
	for _, v := range []values{
		{"image": values{"repository": "a #b"}}, {"image": values{"repository": ""}}, {"image": values{"repository": "a\nb"}},
		{"image": values{"tag": "v1 # c"}}, {"holder": values{"image": "a b"}},
		{"fence": values{"mode": "Deny", "users": []any{"a\nb"}}}, {"fence": values{"mode": "Deny", "groups": []any{"a\n"}}}, {"fence": values{"users": []any{""}}},
	} {
		if _, err := render(t, v, install); err == nil || !strings.Contains(err.Error(), "does not match pattern") {
			t.Errorf("%v: %v", v, err)
		}
	}
}
