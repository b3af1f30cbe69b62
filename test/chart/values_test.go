package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// leaf is one value a person can set.
type leaf struct {
	path    []string
	value   any
	comment string
}

func (l leaf) String() string { return strings.Join(l.path, ".") }

// opaque values are set as a whole, whatever their chart's own has inside.
var opaque = map[string]bool{"resources": true, "topologySpreadConstraints": true}

// leaves are all values of the chart with the comments above them.
func leaves(t *testing.T) []leaf {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		t.Fatal(err)
	}
	var found []leaf
	var walk func(node *yaml.Node, path []string)
	walk = func(node *yaml.Node, path []string) {
		for i := 0; i < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			at := append(slices.Clone(path), key.Value)
			if value.Kind == yaml.MappingNode && len(value.Content) > 0 && !opaque[key.Value] {
				walk(value, at)
				continue
			}
			l := leaf{path: at, comment: key.HeadComment}
			if err := value.Decode(&l.value); err != nil {
				t.Fatal(err)
			}
			found = append(found, l)
		}
	}
	walk(doc.Content[0], nil)
	return found
}

func TestEveryValueIsExplained(t *testing.T) {
	all := leaves(t)
	if len(all) < 80 {
		t.Errorf("found %d values; there are more", len(all))
	}
	readme, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		said, ok := strings.CutPrefix(l.comment, "# -- ")
		if !ok || !strings.HasSuffix(said, ".") {
			t.Errorf("%s: its comment is no sentence: %q", l, l.comment)
		}
		if row := " | " + strings.ReplaceAll(said, "\n# ", " ") + " |\n"; !strings.Contains(string(readme), row) {
			t.Errorf("%s: the chart's README does not say %q", l, row) // helm-docs drops what looks like a comment of its own
		}
	}
}

// others are values that differ from the chart's own where nothing simple does.
var others = map[string]any{
	"image.digest":                            "sha256:" + strings.Repeat("a", 64),
	"image.pullPolicy":                        "Never",
	"imagePullSecrets":                        []any{map[string]any{"name": "other"}},
	"runAsUser":                               4711,
	"flux.flavour":                            "operator",
	"argocd.flavour":                          "openshift",
	"gitmirror.pollInterval":                  "99s",
	"gitmirror.reads.namespaces":              []any{"team-z"},
	"gitmirror.audit.service.type":            "LoadBalancer",
	"gitmirror.audit.service.nodePort":        30999,
	"gitmirror.data.size":                     "77Gi",
	"gitmirror.data.persistent":               true,
	"kubeProvider.default.namespaceSelectors": []any{map[string]any{"team": "z"}},
	"fence.mode":                              "Warn",
	"fence.users":                             []any{"other"},
	"fence.groups":                            []any{"other"},
	"monitoring.podMonitor.interval":          "99s",
	"networkPolicy.apiServer.ports":           []any{4711},
	"networkPolicy.git.ports":                 []any{4711},
	"uninstall.timeout":                       "99s",
	"uninstall.within":                        "99s",
	"holder.resources":                        map[string]any{"limits": map[string]any{"memory": "777Mi"}},
	"gitmirror.resources":                     map[string]any{"limits": map[string]any{"memory": "777Mi"}},
	"injector.resources":                      map[string]any{"limits": map[string]any{"memory": "777Mi"}},
	"uninstall.resources":                     map[string]any{"limits": map[string]any{"memory": "777Mi"}},
	"injector.affinity":                       map[string]any{"podAffinity": map[string]any{}},
	"gitmirror.affinity":                      map[string]any{"podAffinity": map[string]any{}},
	"injector.topologySpreadConstraints":      []any{},
}

// alone are values that only show without what hides them.
var alone = map[string]values{
	"image.tag":                          {"image": values{"digest": ""}},
	"gitmirror.data.size":                {},
	"gitmirror.data.existingClaim":       {"gitmirror": values{"data": values{"persistent": true}}},
	"gitmirror.data.storageClassName":    {"gitmirror": values{"data": values{"persistent": true}}},
	"kubeProvider.default.hook":          {},
	"injector.podDisruptionBudget":       {},
	"injector.topologySpreadConstraints": {},
}

// A value that changes nothing is one somebody set in vain.
func TestEveryValueIsUsed(t *testing.T) {
	base := values{
		"argocd":        values{"enabled": true},
		"fence":         values{"mode": "Deny"},
		"kubeProvider":  values{"default": values{"enabled": true}},
		"monitoring":    values{"podMonitor": values{"enabled": true}},
		"networkPolicy": values{"enabled": true, "holder": true},
	}
	for _, l := range leaves(t) {
		before := merged(base, alone[l.String()])
		after := merged(before, nested(l.path, other(t, l, at(before, l.path))))
		if first, then := whole(mustRender(t, before, install)), whole(mustRender(t, after, install)); first == then && l.String() != "crds.enabled" {
			t.Errorf("%s: %v and %v render alike", l, at(before, l.path), at(after, l.path))
		}
	}
	if _, made := mustRender(t, values{"crds": values{"enabled": false}}, install)["crds.yaml"]; made {
		t.Error("crds.enabled: false installs the kinds")
	}
}

// other is a value of the same type that differs from l's, and from what is set already.
func other(t *testing.T, l leaf, set any) any {
	t.Helper()
	if v, ok := others[l.String()]; ok {
		return v
	}
	now := l.value
	if set != nil {
		now = set
	}
	switch v := now.(type) {
	case bool:
		return !v
	case int:
		return v + 1
	case string:
		if strings.HasSuffix(l.String(), "ogLevel") {
			return "ERROR"
		}
		return "other"
	case map[string]any:
		return values{"other": "other"}
	case []any:
		switch l.path[len(l.path)-1] {
		case "extraArgs":
			return []any{"--other=other"}
		default:
			return []any{map[string]any{"name": "other"}}
		}
	}
	t.Fatalf("%s: say in others what to set instead of %v", l, now)
	return nil
}

func at(v values, path []string) any {
	var now any = v
	for _, key := range path {
		m, ok := now.(values)
		if !ok {
			return nil
		}
		now = m[key]
	}
	return now
}

func nested(path []string, value any) values {
	if len(path) == 1 {
		return values{path[0]: value}
	}
	return values{path[0]: nested(path[1:], value)}
}

// merged is a with b over it; neither changes.
func merged(a, b values) values {
	out := maps.Clone(a)
	if out == nil {
		out = values{}
	}
	for key, value := range b {
		below, isMap := value.(values)
		if under, ok := out[key].(values); ok && isMap {
			value = merged(under, below)
		}
		out[key] = value
	}
	return out
}

// Values that are refused together are each taken where nothing stands against them.
func TestWhatFitsIsTaken(t *testing.T) {
	for _, set := range []string{
		"gitmirror: {data: {existingClaim: copies, persistent: true}}",
		"uninstall: {within: 61s, timeout: 1m}",
		"uninstall: {within: 1m, timeout: 1m, handBack: false}",
		"holder: {extraArgs: [--kubeconfig=, --log-level=--watch-label-selector]}",
	} {
		v := values{}
		if err := yaml.Unmarshal([]byte(set), &v); err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, v, install); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
}

func TestWhatIsRefusedIsNamed(t *testing.T) {
	for _, row := range []struct {
		says string
		set  string
		want []string
	}{
		{"a value that does not exist", "replicas: 2", []string{"replicas", "not allowed"}},
		{"one within another", "injector: {replica: 2}", []string{"/injector", "replica", "not allowed"}},
		{"a mode of the fence that does not exist", "fence: {mode: Block}", []string{"/fence/mode", "'Off', 'Warn', 'Deny'"}},
		{"a word YAML takes for false", "fence: {mode: off}", []string{"/fence/mode", "'Off', 'Warn', 'Deny'"}},
		{"no injector", "injector: {replicas: 0}", []string{"/injector/replicas", "minimum"}},
		{"root", "runAsUser: 0", []string{"/runAsUser", "minimum"}},
		{"a number as text", `injector: {replicas: "2"}`, []string{"/injector/replicas", "want integer"}},
		{"a log level of another program", "gitmirror: {logLevel: info}", []string{"/gitmirror/logLevel", "'DEBUG', 'INFO', 'WARN', 'ERROR'"}},
		{"a flag that is none", "holder: {extraArgs: [events-addr=]}", []string{"/holder/extraArgs/0", "^--[a-z]"}},
		{"a digest that is none", "image: {digest: latest}", []string{"/image/digest", "sha256"}},
		{"a resource a holder has no use for", "holder: {resources: {limits: {ephemeral-storage: 1Gi}}}", []string{"/holder/resources/limits", "ephemeral-storage"}},
		{"a user that would end its string", `fence: {users: ["x'] || true || y in ['"]}`, []string{"/fence/users/0", "pattern"}},
		{"no Secret for the audit receiver", `gitmirror: {audit: {secretName: ""}}`, []string{"/gitmirror/audit/secretName", "minLength"}},
		{"a duration without a unit", `uninstall: {within: "240"}`, []string{"/uninstall/within", "(s|m)"}},
		{"a claim that would not be used", "gitmirror: {data: {existingClaim: copies}}", []string{"gitmirror.data.existingClaim", "set gitmirror.data.persistent=true"}},
		{"a class without a claim", "gitmirror: {data: {storageClassName: fast}}", []string{"gitmirror.data.storageClassName", "set gitmirror.data.persistent=true"}},
		{"an uninstall that ends before it has waited", "uninstall: {within: 90s, timeout: 2m}", []string{"uninstall.timeout=2m must be shorter than uninstall.within=90s"}},
		{"one that ends as it has waited", "uninstall: {within: 2m, timeout: 120s}", []string{"uninstall.timeout=120s must be shorter than uninstall.within=2m"}},
		{"a flag of the holder that the injector sets", "holder: {extraArgs: [--watch-label-selector=a=b]}", []string{"holder.extraArgs", "take --watch-label-selector out"}},
		{"a namespace of another form", "flux: {namespace: Flux_System}", []string{"/flux/namespace", "pattern"}},
	} {
		t.Run(row.says, func(t *testing.T) {
			v := values{}
			if err := yaml.Unmarshal([]byte(row.set), &v); err != nil {
				t.Fatal(err)
			}
			_, err := render(t, v, install)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoes not say %q", err, want)
				}
			}
		})
	}
}
