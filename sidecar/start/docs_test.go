package start

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheDocumentationListsEveryMetricOfTheStart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## The holder's start\n")
	if !found {
		t.Fatal("docs/metrics.md has no section The holder's start")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(holdfast_[^`]*)`").FindAllStringSubmatch(section, -1) {
		listed = append(listed, row[1])
	}
	slices.Sort(listed)
	if have := slices.Sorted(maps.Keys(values(t, NewGate(bound)))); !slices.Equal(listed, have) {
		t.Errorf("it lists %v, and there are %v", listed, have)
	}
}
