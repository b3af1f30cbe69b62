package attacks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// named is a test as a document names it.
type named struct{ file, name string }

var inDocument = regexp.MustCompile("`([\\w/]+_test\\.go)` \"([^\"]+)\"")

// namedIn returns the tests that a line of a document names.
func namedIn(line string) []named {
	var all []named
	for _, m := range inDocument.FindAllStringSubmatch(line, -1) {
		all = append(all, named{m[1], m[2]})
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exists says that the file has a story, a row of a table or a test function of that name.
func exists(t *testing.T, n named) bool {
	t.Helper()
	text := read(t, n.file)
	return strings.Contains(text, strconv.Quote(n.name)) || strings.Contains(text, "func "+n.name+"(")
}

// rows returns the lines of the document's table, by their first cell.
func rows(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "--") {
			continue
		}
		found[strings.TrimSpace(cells[1])] = line
	}
	return found
}

func TestEveryPitfallHasAGuardAndATestThatExists(t *testing.T) {
	table := rows(read(t, "docs/pitfalls.md"))
	for _, id := range []string{"B9", "B10", "B11", "B12", "B13", "B15", "B17", "B19", "B20", "B21"} {
		if table[id] == "" {
			t.Errorf("%s has no row", id)
		}
	}
	for id, line := range table {
		if !strings.HasPrefix(id, "B") {
			continue
		}
		tests := namedIn(line)
		if len(tests) == 0 {
			t.Errorf("%s names no test", id)
		}
		for _, n := range tests {
			if !exists(t, n) {
				t.Errorf("%s names %q, which is not in %s", id, n.name, n.file)
			}
		}
	}
}

func TestTheListOfAttacksIsTheStoriesLabelledSo(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "test/e2e/*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	labelled := map[named]bool{}
	for _, path := range files {
		for _, story := range attacksOf(t, path) {
			labelled[named{"test/e2e/" + filepath.Base(path), story}] = true
		}
	}
	listed := map[named]bool{}
	for attempt, line := range rows(read(t, "test/attacks/README.md")) {
		for _, n := range namedIn(line) {
			if listed[n] {
				t.Errorf("%q is listed twice, the second time for %q", n.name, attempt)
			}
			listed[n] = true
		}
	}
	lines := func(all map[named]bool) []string {
		var s []string
		for n := range maps.Keys(all) {
			s = append(s, n.file+": "+n.name)
		}
		slices.Sort(s)
		return s
	}
	if diff := cmp.Diff(lines(labelled), lines(listed)); diff != "" {
		t.Errorf("labelled (-) and listed (+) differ:\n%s", diff)
	}
	if len(listed) == 0 {
		t.Error("nothing is listed")
	}
}

// attacksOf returns the names of the stories of a file that are labelled attack, by themselves or by what they are in.
func attacksOf(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	var visit func(node ast.Node, within bool)
	visit = func(node ast.Node, within bool) {
		ast.Inspect(node, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			switch f, _ := call.Fun.(*ast.Ident); {
			case f == nil:
				return true
			case f.Name == "Describe":
				for _, arg := range call.Args {
					visit(arg, within || labelledAttack(call))
				}
				return false
			case f.Name == "It" && (within || labelledAttack(call)):
				name, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, name)
				return false
			}
			return true
		})
	}
	visit(file, false)
	return found
}

// labelledAttack says that Label(…, "attack", …) is among the arguments.
func labelledAttack(call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		label, ok := arg.(*ast.CallExpr)
		if !ok {
			continue
		}
		if f, ok := label.Fun.(*ast.Ident); !ok || f.Name != "Label" {
			continue
		}
		for _, l := range label.Args {
			if lit, ok := l.(*ast.BasicLit); ok && lit.Value == `"attack"` {
				return true
			}
		}
	}
	return false
}
