package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Check parses every Go file of the module at root, except tests and nested modules, and returns one sentence for each
// breach, sorted. A core that is listed and does not exist is a breach too: a rule about nothing protects nothing.
func Check(root string, rules Rules) ([]string, error) {
	var breaches []string
	judged := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if skips(name, rel) {
				return filepath.SkipDir
			}
			if slices.Contains(rules.BadNames, path.Base(rel)) {
				breaches = append(breaches, fmt.Sprintf("%s: the folder's name says nothing about what is inside", rel))
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		found, core, err := rules.file(name, rel)
		judged[core] = true
		breaches = append(breaches, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("check the layers of %s: %w", rules.Module, err)
	}
	for _, core := range rules.Cores {
		if !judged[core] {
			breaches = append(breaches, fmt.Sprintf("%s: listed as a core, and there is no such file or folder with Go files", core))
		}
	}
	slices.Sort(breaches)
	return breaches, nil
}

// skips says whether a folder is outside the module: a nested module, or a folder the go command leaves out.
func skips(name, rel string) bool {
	if rel == "." {
		return false
	}
	base := path.Base(rel)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" {
		return true
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil
}

// file judges one file, and says which of the cores it belongs to ("" for none).
func (r Rules) file(name, rel string) (breaches []string, core string, err error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}
	core = r.coreOf(rel)
	imports := map[string]string{} // the name a file uses for it: the path
	for _, spec := range parsed.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, core, fmt.Errorf("%s: %w", rel, err)
		}
		if why := r.mayNotImport(rel, core, target); why != "" {
			breaches = append(breaches, fmt.Sprintf("%s imports %s: %s", rel, target, why))
		}
		local := path.Base(target)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imports[local] = target
	}
	if core == "" {
		return breaches, core, nil
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if from, ok := selector.X.(*ast.Ident); ok {
			full := imports[from.Name] + "." + selector.Sel.Name
			if slices.Contains(r.CoreMayNotCall, full) {
				breaches = append(breaches, fmt.Sprintf("%s:%d uses %s: a core is told the time, makes no chance and has no network",
					rel, files.Position(selector.Pos()).Line, full))
			}
		}
		return true
	})
	return breaches, core, nil
}

// mayNotImport returns why the file may not import target, or "" when it may.
func (r Rules) mayNotImport(rel, core, target string) string {
	for owned, owner := range r.Owners {
		if under(target, owned) && !under(rel, owner) {
			return "only " + owner + " may"
		}
	}
	own, isOwn := strings.CutPrefix(target, r.Module+"/")
	if core != "" {
		for _, bad := range r.CoreMayNotImport {
			if under(target, bad) {
				return "a core imports no client, clock, network or logger"
			}
		}
		if isOwn && !under(own, "api") && !slices.ContainsFunc(r.Cores, func(c string) bool { return under(own, c) }) {
			return "a core rests only on other cores and the API"
		}
	}
	part, allowed := r.partOf(rel)
	if part == "" || !isOwn || under(own, part) {
		return ""
	}
	if !slices.ContainsFunc(allowed, func(a string) bool { return under(own, a) }) {
		return part + " may not rest on it"
	}
	return ""
}

// coreOf returns the core that the file is, or is in.
func (r Rules) coreOf(rel string) string {
	for _, core := range r.Cores {
		if rel == core || path.Dir(rel) == core {
			return core
		}
	}
	return ""
}

// partOf returns the part the file is in and what that part may import.
func (r Rules) partOf(rel string) (part string, allowed []string) {
	for name, may := range r.Parts {
		if under(rel, name) && len(name) > len(part) {
			part, allowed = name, may
		}
	}
	return part, allowed
}

// under says that name is the path itself or below it.
func under(name, path string) bool {
	return name == path || strings.HasPrefix(name, path+"/")
}
