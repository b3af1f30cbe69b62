package webhook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func TestAPolicyThatCannotBeUsedLeavesTheLastGoodOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var logged []string
	p := OpenPolicy(path, metrics, funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))

	for _, step := range []struct {
		name, content string // "-": the file is taken away
		image         string // "": there is no policy
		refused       float64
		logs          int // lines more than before
	}{
		{"no file at the start is no policy", "-", "", 1, 0},
		{"nor is one that says nothing", "", "", 1, 1},
		{"the first good one holds", "image: one:v1", "one:v1", 0, 1},
		{"unchanged it is not read again", "image: one:v1", "one:v1", 0, 0},
		{"a bad one leaves it", "image: [", "one:v1", 1, 1},
		{"and is told of once", "image: [", "one:v1", 1, 0},
		{"no file leaves it too", "-", "one:v1", 1, 1},
		{"the next good one holds", "image: two:v2", "two:v2", 0, 1},
	} {
		t.Run(step.name, func(t *testing.T) {
			before := len(logged)
			if step.content == "-" {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(path, []byte(step.content), 0o600); err != nil {
				t.Fatal(err)
			}
			p.look()
			got, err := p.Current()
			if got.Image != step.image || (err == nil) != (step.image != "") || (p.Ready() == nil) != (step.image != "") {
				t.Errorf("policy of %q, %v", got.Image, err)
			}
			var refused dto.Metric
			if err := metrics.refused.Write(&refused); err != nil || refused.Gauge.GetValue() != step.refused {
				t.Errorf("the metric says %v, %v", refused.Gauge, err)
			}
			if more := len(logged) - before; more != step.logs {
				t.Errorf("%d lines more: %s", more, strings.Join(logged[before:], fmt.Sprintln()))
			}
		})
	}
}
