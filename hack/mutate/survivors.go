package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Statuses as gremlins writes them.
const (
	statusKilled     = "KILLED"
	statusLived      = "LIVED"
	statusNotCovered = "NOT COVERED"
	statusTimedOut   = "TIMED OUT"
	statusNotViable  = "NOT VIABLE"
)

// survivor says which mutant lived, in words that hold when lines above it come or go.
type survivor struct {
	File     string // from the repository's root, with slashes
	Function string // "Decide", "Seen.resume", or "package" outside of any
	Type     string // as gremlins calls it: CONDITIONALS_NEGATION
	Line     string // the line without indentation or comment, the operator that is changed between « and »
}

// String is how SURVIVORS.md writes it.
func (s survivor) String() string {
	return "`" + strings.Join([]string{s.File, s.Function, s.Type, s.Line}, "` `") + "`"
}

// mutant is one change and how it ended.
type mutant struct {
	survivor
	status string
}

// unproven reports whether no test noticed the mutant: the tests passed with it, or none reaches it.
func (m mutant) unproven() bool {
	return m.status == statusLived || m.status == statusNotCovered
}

// parseSurvivors reads the list: each item is four fields in backquotes, a dash and the reason why that mutant may live.
func parseSurvivors(text string) ([]survivor, error) {
	var all []survivor
	n := 0
	for line := range strings.Lines(text) {
		n++
		item, ok := strings.CutPrefix(line, "- `")
		if !ok {
			continue
		}
		f := strings.SplitN(item, "`", 8)
		if len(f) != 8 || len(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(f[7]), "—"))) == 0 {
			return nil, fmt.Errorf("line %d: want - `file` `function` `type` `line` — reason", n)
		}
		all = append(all, survivor{File: f[0], Function: f[2], Type: f[4], Line: f[6]})
	}
	return all, nil
}

// read returns the mutants of gremlins' output for the package pkg of the checkout at root.
func read(root, pkg, file string) ([]mutant, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var result struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type, Status string
				Line, Column int
			}
		}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []mutant
	for _, f := range result.Files {
		name := filepath.ToSlash(filepath.Join(pkg, f.Name))
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		for _, m := range f.Mutations {
			s := survivor{File: name, Type: m.Type}
			if s.Function, s.Line, err = place(src, m.Line, m.Column); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, m.Line, err)
			}
			all = append(all, mutant{survivor: s, status: m.Status})
		}
	}
	return all, nil
}

// place returns the function around line and column, both from 1, and the line as survivor.Line has it.
func place(src []byte, line, column int) (function, text string, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	function = "package"
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && set.Position(f.Pos()).Line <= line && line <= set.Position(f.End()).Line {
			function = functionName(f)
		}
	}
	lines := strings.Split(string(src), "\n")
	if line > len(lines) || column > len(lines[line-1]) {
		return "", "", fmt.Errorf("the source has no column %d there", column)
	}
	before, after := lines[line-1][:column-1], lines[line-1][column-1:]
	end := len(operator(after))
	text, _, _ = strings.Cut(before+"«"+after[:end]+"»"+after[end:], " // ")
	return function, strings.ReplaceAll(strings.TrimSpace(text), "`", "'"), nil
}

// operator returns the first token of text, an operator or a keyword, as Go reads it.
func operator(text string) string {
	var sc scanner.Scanner
	sc.Init(token.NewFileSet().AddFile("", -1, len(text)), []byte(text), nil, 0)
	_, tok, _ := sc.Scan()
	return tok.String()
}

// functionName returns a method with its receiver's type, "Seen.resume", and a function as it is.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// report prints the figures of pkg, each mutant that nobody listed, and each listed one that lives no longer. It returns
// false when there was either, or when a mutant ran out of time and so proves nothing.
func report(w io.Writer, pkg string, seen []mutant, listed []survivor) bool {
	count := map[string]int{}
	var unlisted, late []mutant
	lived := map[survivor]bool{}
	for _, m := range seen {
		count[m.status]++
		switch {
		case m.status == statusTimedOut:
			late = append(late, m)
		case m.unproven():
			lived[m.survivor] = true
			if !slices.Contains(listed, m.survivor) {
				unlisted = append(unlisted, m)
			}
		}
	}
	fmt.Fprintf(w, "== %s: %d killed, %d lived, %d not covered, %d not viable, %d timed out\n", pkg, count[statusKilled],
		count[statusLived], count[statusNotCovered], count[statusNotViable], count[statusTimedOut])
	for _, m := range unlisted {
		fmt.Fprintf(w, "%s, and not listed:\n  - %s — \n", m.status, m.survivor)
	}
	for _, m := range late {
		fmt.Fprintf(w, "%s:\n  %s\n", m.status, m.survivor)
	}
	stale := 0
	for _, s := range listed {
		if filepath.ToSlash(filepath.Dir(s.File)) == pkg && !lived[s] {
			fmt.Fprintf(w, "listed, but lives no longer:\n  - %s\n", s)
			stale++
		}
	}
	return len(unlisted) == 0 && len(late) == 0 && stale == 0
}
