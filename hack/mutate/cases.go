package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/cover"
)

// addCases appends to a coverage profile what Go's coverage does not count: the conditions of the cases of every switch
// that was reached, and the constants and variables of each package. It is called in the root of the module.
func addCases(profile string) error {
	module, err := modulePath("go.mod")
	if err != nil {
		return err
	}
	files, err := cover.ParseProfiles(profile)
	if err != nil {
		return err
	}
	var more strings.Builder
	for _, f := range files {
		src, err := os.ReadFile(filepath.FromSlash(strings.TrimPrefix(f.FileName, module+"/")))
		if err != nil {
			return err
		}
		spans, err := uncounted(src, f.Blocks)
		if err != nil {
			return fmt.Errorf("%s: %w", f.FileName, err)
		}
		for _, s := range spans {
			fmt.Fprintf(&more, "%s:%d.%d,%d.%d 1 1\n", f.FileName, s[0].Line, s[0].Column, s[1].Line, s[1].Column)
		}
	}
	out, err := os.OpenFile(profile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := out.WriteString(more.String()); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// modulePath returns the path of the module whose go.mod file is given.
func modulePath(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return path.Clean(strings.TrimSpace(name)), nil
		}
	}
	return "", fmt.Errorf("%s names no module", file)
}

// uncounted returns from where to where in src no block of the profile can reach although tests do: the lists of cases
// whose switch lies in a block that ran, and package-level constants and variables.
func uncounted(src []byte, blocks []cover.ProfileBlock) ([][2]token.Position, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var spans [][2]token.Position
	add := func(from, to token.Pos) {
		spans = append(spans, [2]token.Position{set.Position(from), set.Position(to)})
	}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && (g.Tok == token.CONST || g.Tok == token.VAR) {
			for _, s := range g.Specs {
				add(s.Pos(), s.End())
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SwitchStmt)
		if !ok || !ran(set.Position(s.Pos()), blocks) {
			return true
		}
		for _, c := range s.Body.List {
			if list := c.(*ast.CaseClause).List; len(list) > 0 {
				add(list[0].Pos(), list[len(list)-1].End())
			}
		}
		return true
	})
	return spans, nil
}

// ran reports whether the statement that begins at pos lies in a block that tests reach.
func ran(pos token.Position, blocks []cover.ProfileBlock) bool {
	for _, b := range blocks {
		from := pos.Line > b.StartLine || pos.Line == b.StartLine && pos.Column >= b.StartCol
		to := pos.Line < b.EndLine || pos.Line == b.EndLine && pos.Column < b.EndCol
		if b.Count > 0 && from && to {
			return true
		}
	}
	return false
}
