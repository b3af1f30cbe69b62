package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The linter's configuration repeats the list of cores for editors. A core that is missing there would be judged by the
// unit tests alone, and nobody would see why an editor stays silent.
func TestTheLinterKnowsEveryCore(t *testing.T) {
	config, err := os.ReadFile(filepath.Join("..", "..", ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var expressions []string
	for _, core := range Holdfast.Cores {
		file, expression := "**/"+core+"/*.go", regexp.QuoteMeta(core)+`/[^/]*\.go`
		if strings.HasSuffix(core, ".go") {
			file, expression = "**/"+core, regexp.QuoteMeta(core)
		}
		expressions = append(expressions, expression)
		if want := `- "` + file + `"`; !strings.Contains(string(config), want) {
			t.Errorf("depguard's cores lack the line %s", want)
		}
	}
	if want := "path-except: ^(" + strings.Join(expressions, "|") + ")$"; !strings.Contains(string(config), want) {
		t.Errorf("forbidigo's exclusion lacks the line\n%s", want)
	}
}
