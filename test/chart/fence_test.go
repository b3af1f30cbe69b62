package chart

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// admission is what the API server knows of a write.
type admission struct{ object, oldObject, request map[string]any }

// refusals are the messages of those validations of a policy that a write does not pass.
func refusals(t *testing.T, policy *unstructured.Unstructured, a admission) []string {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType),
		cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType)))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]any{}
	evaluate := func(expression string) any {
		t.Helper()
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			t.Fatalf("%v in\n%s", issues.Err(), expression)
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		value, _, err := program.Eval(map[string]any{"object": a.object, "oldObject": a.oldObject, "request": a.request, "variables": known})
		if err != nil {
			t.Fatalf("%v in\n%s", err, expression)
		}
		return value.Value()
	}
	list := func(field string) []any {
		t.Helper()
		all, _, err := unstructured.NestedSlice(policy.Object, "spec", field)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %d, %v", field, len(all), err)
		}
		return all
	}
	for _, v := range list("variables") {
		variable := v.(map[string]any)
		known[variable["name"].(string)] = evaluate(variable["expression"].(string))
	}
	var said []string
	for _, v := range list("validations") {
		validation := v.(map[string]any)
		if evaluate(validation["expression"].(string)) == false {
			said = append(said, evaluate(validation["messageExpression"].(string)).(string))
		}
	}
	return said
}

// The flux command sends no field manager; its refusal does not speak of one.
func TestARefusalNamesWhoWrites(t *testing.T) {
	made := mustRender(t, values{"fence": values{"mode": "Deny"}, "argocd": values{"enabled": true}}, install)
	named := func(annotations, spec map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": "flux-system", "name": "apps", "annotations": annotations}, "spec": spec}
	}
	mark := map[string]any{"holdfast.dev/held-by": "web/web"}
	off := map[string]any{"suspend": true, "syncPolicy": map[string]any{"automated": map[string]any{"enabled": false}}}
	on := map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{}}}
	for _, row := range []struct {
		says    string
		options map[string]any
		want    string
	}{
		{"one with a field manager", map[string]any{"fieldManager": "kubectl-patch"}, "keeps it. (field manager kubectl-patch, user bob)"},
		{"one without", map[string]any{}, "keeps it. (user bob)"},
		{"one with an empty one", map[string]any{"fieldManager": ""}, "keeps it. (user bob)"},
	} {
		for policy, kind := range map[string]string{"holdfast-kustomizations": "Kustomization", "holdfast-applications": "Application"} {
			said := refusals(t, find(t, made, "ValidatingAdmissionPolicy", policy), admission{
				object: named(map[string]any{}, on), oldObject: named(mark, off),
				request: map[string]any{"options": row.options, "userInfo": map[string]any{"username": "bob"}},
			})
			if len(said) != 2 {
				t.Errorf("%s: %s: resuming and taking the mark off are refused with %q", policy, row.says, said)
			}
			for _, message := range said {
				if !strings.HasSuffix(message, row.want) || !strings.HasPrefix(message, kind+" flux-system/apps is held by Holdfast: ") {
					t.Errorf("%s: %s: %q does not end with %q", policy, row.says, message, row.want)
				}
			}
		}
	}
}
