package attacks

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pinned is the version of a module that the go.mod in a folder requires, without the v.
func pinned(t *testing.T, folder, module string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(module) + ` v(\S+)`).FindStringSubmatch(read(t, filepath.Join(folder, "go.mod")))
	if m == nil {
		t.Fatalf("%s/go.mod does not require %s", folder, module)
	}
	return m[1]
}

func TestTheGuideForAnInstallSaysWithWhichVersionsTheTestsRun(t *testing.T) {
	release := strings.Split(pinned(t, "test/cluster/fluxcli", "github.com/fluxcd/flux2/v2"), ".")
	want := fmt.Sprintf("The tests run with Kubernetes %s, with kustomize-controller %s and source-controller %s as in Flux %s, and with Helm %s.",
		pinned(t, "test/cluster/kube", "k8s.io/kubernetes"),
		pinned(t, "test/cluster/flux", "github.com/fluxcd/kustomize-controller"),
		pinned(t, "test/cluster/flux", "github.com/fluxcd/source-controller"),
		strings.Join(release[:2], "."), pinned(t, "test/chart", "helm.sh/helm/v4"))
	if page := strings.Join(strings.Fields(read(t, "docs/install-flux.md")), " "); !strings.Contains(page, want) {
		t.Errorf("docs/install-flux.md does not say %q", want)
	}
}

// runners are the tests that run the shell blocks of a page as they are printed.
var runners = map[string][]string{
	"README.md":            {"test/api/readme_test.go"},
	"docs/audit.md":        {"test/e2e/docs_pages_test.go"},
	"docs/cli.md":          {"cli/command/inject_test.go"},
	"docs/events.md":       {"test/e2e/docs_pages_test.go"},
	"docs/flux.md":         {"test/e2e/docs_flux_test.go"},
	"docs/install-flux.md": {"test/node/stories/guide_test.go"},
	"docs/status.md":       {"test/node/stories/status_test.go"},
	"docs/uninstall.md":    {"test/node/stories/uninstall_test.go"},
	"docs/upgrade.md":      {"test/node/stories/upgrade_test.go", "test/e2e/install_chart_test.go"},
}

func TestEveryPageWithShellBlocksHasATestThatReadsIt(t *testing.T) {
	var pages, printing []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, path := range pages {
		page := strings.TrimPrefix(path, root+"/")
		if !strings.Contains(read(t, page), "\n```sh\n") {
			continue
		}
		printing = append(printing, page)
		for _, file := range runners[page] {
			if name := fmt.Sprintf("%q", filepath.Base(page)); !strings.Contains(read(t, file), name) {
				t.Errorf("%s does not read %s", file, name)
			}
		}
	}
	slices.Sort(printing)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(runners)), printing); diff != "" {
		t.Errorf("pages with shell blocks (-run by a test +there are):\n%s", diff)
	}
}
