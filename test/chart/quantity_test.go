package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common/util"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// amountsOf are all values of the chart that are an amount of something, and what else a person may limit.
var amountsOf = []string{
	"holder.resources.requests.cpu", "holder.resources.requests.memory", "holder.resources.limits.cpu", "holder.resources.limits.memory",
	"injector.resources.requests.cpu", "injector.resources.requests.memory", "injector.resources.limits.cpu", "injector.resources.limits.memory",
	"gitmirror.resources.requests.cpu", "gitmirror.resources.requests.memory", "gitmirror.resources.limits.cpu", "gitmirror.resources.limits.memory",
	"uninstall.resources.requests.cpu", "uninstall.resources.requests.memory", "uninstall.resources.limits.cpu", "uninstall.resources.limits.memory",
	"gitmirror.resources.limits.ephemeral-storage", "gitmirror.data.size",
}

func TestEveryAmountHasAUnitKubernetesKnows(t *testing.T) {
	c := load(t)
	for _, path := range amountsOf {
		steps := strings.Split(path, ".")
		for _, bad := range []any{"512MB", "2GB", "1 Gi", "64mi", "1K", "", "much", "-1Gi", -1, true} {
			_, err := util.ToRenderValues(c, nested(steps, bad), install, nil)
			if err == nil {
				t.Errorf("%s: %v is taken", path, bad)
			} else if at := "/" + strings.Join(steps, "/"); !strings.Contains(err.Error(), at) {
				t.Errorf("%v\ndoes not say %q", err, at)
			}
		}
		for _, good := range []any{"512M", "1.5Gi", "250m", "1e9", 536870912, 0.5} {
			if _, err := util.ToRenderValues(c, nested(steps, good), install, nil); err != nil {
				t.Errorf("%s: %v is refused: %v", path, good, err)
			}
		}
	}
}

// The pattern of the schema is the parser of Kubernetes, but for what only that takes: amounts below nothing, which no pod may
// ask for, texts without a digit, and exponents of more digits than any amount has.
func TestTheSchemaTakesWhatKubernetesTakes(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct{ Quantity struct{ Pattern string } } `json:"$defs"`
	}
	if err := json.Unmarshal(content, &schema); err != nil || schema.Defs.Quantity.Pattern == "" {
		t.Fatalf("no pattern: %v", err)
	}
	pattern, digit := regexp.MustCompile(schema.Defs.Quantity.Pattern), regexp.MustCompile("^[+-]?[.]?[0-9]")
	taken := 0
	for text := range written() {
		q, err := resource.ParseQuantity(text)
		want := err == nil && !strings.HasPrefix(text, "-") && digit.MatchString(text)
		if got := pattern.MatchString(text); got != want {
			t.Errorf("%q: the schema takes it: %t; Kubernetes makes of it %s, %v", text, got, q.String(), err)
		}
		if want {
			taken++
		}
	}
	if taken < 500 {
		t.Errorf("only %d are taken", taken)
	}
}

// written are texts that are made as quantities are: a sign, a number, a suffix; and others beside them.
func written() map[string]bool {
	suffixes := []string{"", "MB", "GB", "Kb", "mi", "ki", "KI", "iM", "ii", "i", "b", "B", "e", "Ee", "e+", "E-", "MM", "m1", "M5", "Mi3", " Mi", "Mi ", "\n", "e1.5", "1e", "%", "x"}
	for _, letter := range strings.Split("numkKMGTPE", "") {
		suffixes = append(suffixes, letter, letter+"i", letter+"+1")
	}
	for _, e := range []string{"e", "E"} {
		for _, exponent := range []string{"0", "3", "06", "18", "+3", "-3", "+12", "-09", "--3", "+-3"} {
			suffixes = append(suffixes, e+exponent)
		}
	}
	all := map[string]bool{}
	for _, sign := range []string{"", "+", "-", "--", "+-", " "} {
		for _, number := range []string{"", ".", "0", "1", "007", "1.", ".5", "1.5", "12.345", "1.2.3", "..5", "1_000", "1,5", "0x10", "9223372036854775808", "ten"} {
			for _, suffix := range suffixes {
				all[sign+number+suffix] = true
			}
		}
	}
	return all
}

// An amount written as a bare number is still one in what is rendered, however large.
func TestABareNumberStaysAnAmount(t *testing.T) {
	made := mustRender(t, values{"gitmirror": values{
		"data": values{"persistent": true, "size": float64(5 << 30)}, "resources": values{"limits": values{"cpu": 0.5, "memory": float64(1 << 30)}},
	}}, install)
	size, _, err := unstructured.NestedFieldNoCopy(find(t, made, "PersistentVolumeClaim", "holdfast-gitmirror").Object, "spec", "resources", "requests", "storage")
	if err != nil {
		t.Fatal(err)
	}
	containers, _, err := unstructured.NestedSlice(find(t, made, "Deployment", "holdfast-gitmirror").Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	limits, _, err := unstructured.NestedMap(containers[0].(map[string]any), "resources", "limits")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{"size": size, "cpu": limits["cpu"], "memory": limits["memory"]}
	want := map[string]string{"size": "5Gi", "cpu": "500m", "memory": "1Gi"}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		text, err := json.Marshal(got[name])
		if err != nil {
			t.Fatal(err)
		}
		var q resource.Quantity
		if err := json.Unmarshal(text, &q); err != nil || q.Cmp(resource.MustParse(want[name])) != 0 {
			t.Errorf("%s is rendered as %s, which is no %s: %v", name, text, want[name], err)
		}
	}
}
