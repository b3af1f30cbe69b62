package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-gitops/holdfast/injector/missing"
	"github.com/holdfast-gitops/holdfast/injector/trust"
	"github.com/holdfast-gitops/holdfast/injector/webhook"
)

// section is what docs/page says of the injector.
func section(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, own, ok := strings.Cut(string(text), "\n## The injector\n")
	if !ok {
		t.Fatalf("docs/%s has no section The injector", page)
	}
	own, _, _ = strings.Cut(own, "\n## ")
	return own
}

// listed are the first columns of the section's table.
func listed(section string) []string {
	var all []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`{]+)").FindAllStringSubmatch(section, -1) {
		all = append(all, row[1])
	}
	slices.Sort(all)
	return all
}

// collectors keeps what is registered.
type collectors []prometheus.Collector

func (c *collectors) Register(one prometheus.Collector) error { *c = append(*c, one); return nil }
func (c *collectors) MustRegister(...prometheus.Collector)    {}
func (c *collectors) Unregister(prometheus.Collector) bool    { return false }

func TestMetricsPageListsEveryMetricOfTheInjector(t *testing.T) {
	var all collectors
	if _, err := webhook.NewMetrics(&all); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.NewMetrics(&all); err != nil {
		t.Fatal(err)
	}
	if _, err := missing.NewMetrics(&all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		descriptions := make(chan *prometheus.Desc, 1)
		c.Describe(descriptions)
		names = append(names, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch((<-descriptions).String())[1])
	}
	slices.Sort(names)
	own := section(t, "metrics.md")
	if diff := cmp.Diff(listed(own), names); diff != "" {
		t.Errorf("docs/metrics.md (-listed +registered):\n%s", diff)
	}
	for _, value := range slices.Concat(constants(t, "inject", "Skip"), constants(t, "inject", "Flavour"),
		constants(t, "webhook", "outcome"), constants(t, "trust", "change"), constants(t, "missing", "outcome")) {
		if !strings.Contains(own, "`"+value+"`") {
			t.Errorf("docs/metrics.md does not say what %s means", value)
		}
	}
}

func TestEventsPageListsEveryReasonOfTheInjector(t *testing.T) {
	reasons := constants(t, "missing", "Reason")
	slices.Sort(reasons)
	if diff := cmp.Diff(listed(section(t, "events.md")), reasons); diff != "" {
		t.Errorf("docs/events.md (-listed +told):\n%s", diff)
	}
}

// constants are the values of a package's constants whose names begin with a type's, in any case.
func constants(t *testing.T, pkg, kind string) []string {
	t.Helper()
	files, err := os.ReadDir(pkg)
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\s+(?:` + kind + `\w+(?:\s+` + kind + `)?|\w+\s+` + kind + `)\s*=\s*"([^"]+)"`)
	var values []string
	for _, f := range files {
		if f.IsDir() || !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(pkg + "/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
			values = append(values, m[1])
		}
	}
	if len(values) == 0 {
		t.Fatalf("package %s has no constants of %s", pkg, kind)
	}
	return values
}
