package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// row is one value a rule admits and one it refuses. A rule with more than one edge has more than one row.
type row struct {
	kind  string
	field string // [] is the first element
	rule  string // a keyword of the schema; the message of a rule in CEL
	good  any
	bad   any
	says  string // in the refusal, beside the field
}

// frozen is a field that keeps its first value.
type frozen struct {
	kind  string
	field string
	rule  string // of the spec: its message
	other any
}

const (
	aURL        = "url must be http(s)://host/path without credentials, query or fragment; put credentials into secretRef"
	aBranch     = "branch must be a plain branch name, such as main or release/1.2"
	aPath       = "path must be a folder inside the repository: relative, without . or .. or .git segments"
	aLabel      = "a label's key has at most 317 characters and its value at most 63"
	noSecrets   = "secrets cannot be mirrored: their values would reach Git unencrypted"
	sameTarget  = "gitProviderRef, branch and path are immutable; make a new GitTarget"
	sameCluster = "kubeProviderRef is immutable; make a new GitTarget"
	sameApplier = "kustomizationRef and kubeProviderRef are immutable; make a new FluxTrigger"

	aHash      = "should match '^([0-9a-f]{40}|[0-9a-f]{64})$'"
	aName      = "should match '^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$'"
	aNamespace = "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'"

	tooShort  = "should be at least 1 chars long"
	tooLong   = "Too long: may not be more than "
	unknown   = "Unsupported value"
	duplicate = "Duplicate value"
)

func between(field string) string { return field + " must be between 0s and 1h" }

// letters returns n letters.
func letters(n int) string { return strings.Repeat("a", n) }

// list returns n different words, each made by format from its number.
func list(n int, format string) []any {
	var all []any
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

// same returns n times v.
func same(n int, v any) []any { return slices.Repeat([]any{v}, n) }

// labels returns n labels.
func labels(n int) map[string]any {
	all := map[string]any{}
	for i := range n {
		all[fmt.Sprintf("k%d", i)] = "v"
	}
	return all
}

// named are the rows of a name that has to be there and fit, as every reference's.
func named(kind, field string, longest int) []row {
	return []row{
		{kind, field, "minLength", "a", "", tooShort},
		{kind, field, "maxLength", letters(longest), letters(longest + 1), fmt.Sprint(tooLong, longest)},
	}
}

// located are the rows of a reference to an object in a namespace.
func located(kind, field string) []row {
	return slices.Concat(named(kind, field+".namespace", 63), named(kind, field+".name", 253), []row{
		{kind, field + ".namespace", "pattern", "team-1", "team.a", aNamespace},
		{kind, field + ".namespace", "pattern", "a", "../a", aNamespace},
		{kind, field + ".name", "pattern", "app-1.v2", "a/b", aName},
		{kind, field + ".name", "pattern", "a", "..", aName},
		{kind, field + ".name", "pattern", "a", "App", aName},
	})
}

func rule(apiGroups, resources []any) map[string]any {
	return map[string]any{"apiGroups": apiGroups, "resources": resources}
}

func TestARuleTakesTheGoodAndRefusesTheBadInWordsThatHelp(t *testing.T) {
	for _, r := range rules {
		t.Run(fmt.Sprintf("%s.%s refuses %s", r.kind, r.field, short(r.bad)), func(t *testing.T) {
			judge := judgeOf(t, r.kind, r.field)
			if err := judge(r.good); err != nil {
				t.Errorf("the good value is refused: %v", err)
			}
			err := judge(r.bad)
			if !apierrors.IsInvalid(err) {
				t.Fatalf("the bad value is answered with %v", err)
			}
			if !strings.Contains(err.Error(), inMessage(r.field)) || !strings.Contains(err.Error(), r.says) {
				t.Errorf("the refusal does not say %q and %q: %v", inMessage(r.field), r.says, err)
			}
		})
	}
}

func TestWhatIsImmutableIsRefusedWithTheWayOut(t *testing.T) {
	for _, f := range immutable {
		t.Run(f.kind+"."+f.field, func(t *testing.T) {
			o := create(t, f.kind, "frozen")
			place(o.Object, f.field, f.other)
			err := admin.Update(t.Context(), o, client.DryRunAll)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec: ") || !strings.Contains(err.Error(), f.rule) {
				t.Errorf("the answer is %v, and not %q", err, f.rule)
			}
		})
	}
}

func TestTheRestOfAnObjectCanBeChanged(t *testing.T) {
	for kind, change := range map[string]string{
		"KubeProvider": `{"spec":{"allowCrossNamespace":null,"accessFrom":null}}`,
		"GitProvider":  `{"spec":{"url":"https://git.example.org/moved","secretRef":null}}`,
		"GitTarget":    `{"spec":{"commit":{"idleTimeout":"1s"},"applyTriggerRef":null}}`,
		"WatchRule":    `{"spec":{"gitTargetRef":{"name":"other"}}}`,
		"FluxTrigger":  `{"spec":{"quietPeriod":"1s"}}`,
	} {
		t.Run(kind, func(t *testing.T) {
			o := create(t, kind, "changing")
			if err := admin.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
				t.Error(err)
			}
		})
	}
}

// judgeOf returns what the API server thinks of a full object of kind in which field has some value, nil for none. It
// changes nothing there.
func judgeOf(t *testing.T, kind, field string) func(value any) error {
	t.Helper()
	if strings.HasPrefix(field, "status.") {
		o := create(t, kind, "judged")
		return func(value any) error {
			changed := o.DeepCopy()
			place(changed.Object, field, value)
			return admin.Status().Update(t.Context(), changed, client.DryRunAll)
		}
	}
	o := read(t, kind, "judged", full[kind])
	return func(value any) error {
		changed := o.DeepCopy()
		place(changed.Object, field, value)
		return admin.Create(t.Context(), changed, client.DryRunAll)
	}
}

// inMessage is how the API server writes field.
func inMessage(field string) string { return strings.ReplaceAll(field, "[]", "[0]") }

// short is a value as a test's name has it.
func short(value any) string {
	s := fmt.Sprintf("%q", value)
	return s[:min(len(s), 40)]
}
