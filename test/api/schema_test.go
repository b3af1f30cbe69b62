package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// field is one field of a kind, as the API server's schema has it.
type field struct {
	kind   string
	path   string // such as spec.rules[].resources; the kind itself is empty
	schema apiextensionsv1.JSONSchemaProps
}

func (f field) String() string { return strings.TrimSuffix(f.kind+"."+f.path, ".") }

// fields returns every field of Holdfast's kinds. What is below conditions is Kubernetes' own.
func fields(t *testing.T) []field {
	t.Helper()
	var kinds apiextensionsv1.CustomResourceDefinitionList
	if err := admin.List(t.Context(), &kinds); err != nil {
		t.Fatal(err)
	}
	var all []field
	var walk func(kind, path string, s apiextensionsv1.JSONSchemaProps)
	walk = func(kind, path string, s apiextensionsv1.JSONSchemaProps) {
		all = append(all, field{kind, path, s})
		if path == "status.conditions" {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			walk(kind, strings.TrimPrefix(path+"."+name, "."), s.Properties[name])
		}
		if s.Items != nil {
			walk(kind, path+"[]", *s.Items.Schema)
		}
	}
	for _, k := range kinds.Items {
		if k.Spec.Group == v1alpha1.GroupVersion.Group {
			walk(k.Spec.Names.Kind, "", *k.Spec.Versions[0].Schema.OpenAPIV3Schema)
		}
	}
	if len(all) < 100 {
		t.Fatalf("only %d fields are known", len(all))
	}
	return all
}

// rulesOf returns the rules a field has, each by its keyword; a rule in CEL by its message.
func rulesOf(f field) []string {
	s := f.schema
	var all []string
	for keyword, there := range map[string]bool{
		"minLength": s.MinLength != nil, "maxLength": s.MaxLength != nil, "pattern": s.Pattern != "",
		"minItems": s.MinItems != nil, "maxItems": s.MaxItems != nil, "enum": len(s.Enum) > 0,
		"minimum": s.Minimum != nil, "maximum": s.Maximum != nil,
		"maxProperties": s.MaxProperties != nil,
		"set":           s.XListType != nil && *s.XListType == "set",
	} {
		if there {
			all = append(all, keyword)
		}
	}
	for _, v := range s.XValidations {
		all = append(all, v.Message)
	}
	return all
}

// A rule without a row is one nobody has seen refuse anything; a row without a rule tells of one that is gone.
func TestEveryRuleHasARow(t *testing.T) {
	there, told := map[string]bool{}, map[string]bool{}
	for _, f := range fields(t) {
		for _, r := range rulesOf(f) {
			there[fmt.Sprintf("%s: %s", f, r)] = true
		}
	}
	for _, r := range rules {
		told[fmt.Sprintf("%s.%s: %s", r.kind, r.field, r.rule)] = true
	}
	for _, f := range immutable {
		told[fmt.Sprintf("%s.spec: %s", f.kind, f.rule)] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(told))); diff != "" {
		t.Errorf("rules of the kinds and rows of the table differ (-rules +rows)\n%s", diff)
	}
}

func TestARequiredFieldThatIsMissingIsNamed(t *testing.T) {
	for _, f := range fields(t) {
		for _, name := range f.schema.Required {
			path := strings.TrimPrefix(f.path+"."+name, ".")
			t.Run(f.kind+"."+path, func(t *testing.T) {
				err := judgeOf(t, f.kind, path)(nil)
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), inMessage(path)+": Required value") {
					t.Errorf("the answer is %v", err)
				}
			})
		}
	}
}

// What a field is for is said where it is declared, for kubectl explain to print.
func TestEveryFieldIsExplained(t *testing.T) {
	for _, f := range fields(t) {
		standard := f.path == "apiVersion" || f.path == "kind" || f.path == "metadata"
		if f.schema.Description == "" && !standard && !strings.HasSuffix(f.path, "[]") {
			t.Errorf("%s has no description", f)
		}
	}
}
