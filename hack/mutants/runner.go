package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// runner runs mutants against the source tree at root.
type runner struct {
	root string
	out  io.Writer
}

// fate is what became of one mutant.
type fate struct {
	mutant Mutant
	killer string // the test that failed, "" when none did
	err    error  // why nothing was proven
	took   time.Duration
}

// all runs each mutant, prints a line as it ends and a table at the end, and returns whether every one was noticed.
func (r runner) all(ctx context.Context, mutants []Mutant) bool {
	passes := map[string]error{} // by command: what the unchanged source's tests said
	fates := make([]fate, 0, len(mutants))
	for _, m := range mutants {
		begin := time.Now()
		f := fate{mutant: m}
		if _, known := passes[m.command()]; !known {
			fmt.Fprintf(r.out, "== unchanged: %s\n", m.command())
			passes[m.command()] = r.baseline(ctx, m)
		}
		if f.err = passes[m.command()]; f.err == nil {
			fmt.Fprintf(r.out, "== mutant %s: %s\n", m.Name, m.command())
			f.killer, f.err = r.kill(ctx, m)
		}
		f.took = time.Since(begin)
		fates = append(fates, f)
	}
	return report(r.out, fates)
}

// command is how a person would run the mutant's tests.
func (m Mutant) command() string {
	words := []string{"go test"}
	if m.Dir != "" {
		words = []string{"go -C " + m.Dir + " test"}
	}
	if m.Run != "" {
		words = append(words, "-run '"+m.Run+"'")
	}
	return strings.Join(append(append(words, m.Package), m.Args...), " ")
}

// baseline runs the tests on the unchanged source; they must run and pass.
func (r runner) baseline(ctx context.Context, m Mutant) error {
	res, err := r.test(ctx, m, "")
	switch {
	case err != nil:
		return err
	case res.buildFailed:
		return fmt.Errorf("the unchanged source does not compile:\n%s", res.tail())
	case res.failed():
		return fmt.Errorf("%s fails on the unchanged source:\n%s", res.killer(), res.tail())
	case res.passed == 0:
		return errors.New("no test ran; does the -run expression still fit?")
	}
	return nil
}

// kill runs the tests on the mutant and returns the test that failed, or "" when all passed.
func (r runner) kill(ctx context.Context, m Mutant) (string, error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := r.overlay(m, dir)
	if err != nil {
		return "", err
	}
	res, err := r.test(ctx, m, overlay)
	switch {
	case err != nil:
		return "", err
	case res.buildFailed:
		return "", fmt.Errorf("the mutant does not compile:\n%s", res.tail())
	case res.failed() && res.killer() == "":
		return "", fmt.Errorf("the run failed and named no test:\n%s", res.tail())
	}
	return res.killer(), nil
}

// overlay writes the changed file and the overlay that lays it over the checkout into dir, and returns the overlay's name.
func (r runner) overlay(m Mutant, dir string) (string, error) {
	original := filepath.Join(r.root, filepath.FromSlash(m.File))
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.Old); n != 1 || m.Old == "" {
		return "", fmt.Errorf("the old text occurs %d times in %s, want once; bring the mutant up to date", n, m.File)
	}
	changed := filepath.Join(dir, filepath.Base(m.File))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.Old, m.New, 1)), 0o644); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}

// stopGrace is how long tests have to stop what they started once they are interrupted.
const stopGrace = 30 * time.Second

// test runs the mutant's tests. The overlay, if any, travels in GOFLAGS, so that a test that builds a program with the
// go command builds the mutant too.
func (r runner) test(ctx context.Context, m Mutant, overlay string) (result, error) {
	args := []string{"test", "-json", "-count=1"}
	if m.Run != "" {
		args = append(args, "-run", m.Run)
	}
	cmd := exec.CommandContext(ctx, "go", append(append(args, m.Package), m.Args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = stopGrace
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(m.Dir))
	cmd.Env = os.Environ()
	if overlay != "" {
		cmd.Env = append(cmd.Env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return result{}, fmt.Errorf("%s: %w", m.command(), err)
	}
	return parse(&stdout, stderr.String(), err != nil), nil
}

// report prints the table and returns whether every mutant was noticed.
func report(out io.Writer, fates []fate) bool {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "\nMUTANT\tTIME\tNOTICED BY")
	noticed := 0
	for _, f := range fates {
		by := f.killer
		switch {
		case f.err != nil:
			by = "NOT PROVEN (see below)"
		case by == "":
			by = "SURVIVED: no test guards this: " + f.mutant.Promise
		default:
			noticed++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.mutant.Name, f.took.Round(100*time.Millisecond), by)
	}
	table.Flush()
	for _, f := range fates {
		if f.err != nil {
			fmt.Fprintf(out, "\n%s: %v\n", f.mutant.Name, f.err)
		}
	}
	fmt.Fprintf(out, "\n%d of %d mutants noticed\n", noticed, len(fates))
	return noticed == len(fates)
}
