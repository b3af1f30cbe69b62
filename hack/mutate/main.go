// Command mutate changes operators of a package one at a time and lists the changes that no test notices.
//
// It runs gremlins, which go.mod pins, over each package named, and compares the mutants that lived with the list of those
// that somebody looked at: hack/mutants/SURVIVORS.md. It exits 1 when a mutant lives that the list does not name, and when
// the list names one that lives no longer. The checkout is never touched: gremlins works in a copy of it.
//
//	go -C hack/mutate run . sidecar/hold internal/binding
//	go -C hack/mutate run . -result FILE sidecar/hold    judge what an earlier run wrote (-keep FILE writes it)
//
// While gremlins runs, this program stands in for the go command, see gocommand.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// survivorsFile lists the mutants that may live, from the repository's root.
const survivorsFile = "hack/mutants/SURVIVORS.md"

func main() {
	if filepath.Base(os.Args[0]) == "go" {
		os.Exit(standIn(os.Args[1:]))
	}
	root := flag.String("root", "../..", "the repository's root")
	result := flag.String("result", "", "judge this output of gremlins and run nothing; one package only")
	keep := flag.String("keep", "", "write gremlins' output here as well; one package only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *root, *result, *keep, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run mutates each package and judges the outcome of all of them, so that one run shows everything there is to look at.
func run(ctx context.Context, root, result, keep string, packages []string) error {
	if len(packages) == 0 || len(packages) > 1 && (result != "" || keep != "") {
		return errors.New("name the packages to mutate, such as sidecar/hold; with -result or -keep one of them")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, survivorsFile))
	if err != nil {
		return err
	}
	listed, err := parseSurvivors(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", survivorsFile, err)
	}
	work, err := os.MkdirTemp("", "holdfast-mutate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if result == "" {
		if err := install(ctx, work); err != nil {
			return err
		}
	}

	accepted := true
	for _, pkg := range packages {
		file := result
		if file == "" {
			file = filepath.Join(work, "result.json")
			if keep != "" {
				if file, err = filepath.Abs(keep); err != nil {
					return err
				}
			}
			if err := unleash(ctx, root, work, pkg, file); err != nil {
				return fmt.Errorf("gremlins in %s: %w", pkg, err)
			}
		}
		seen, err := read(root, pkg, file)
		if err != nil {
			return err
		}
		accepted = report(os.Stdout, pkg, seen, listed) && accepted
	}
	if !accepted {
		return fmt.Errorf("write a test for each mutant that lived, or list it in %s and argue why it may live", survivorsFile)
	}
	return nil
}

// install builds gremlins into work, and puts this program beside it under the name of the go command.
func install(ctx context.Context, work string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Symlink(self, filepath.Join(work, "go")); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(work, "gremlins"), "github.com/go-gremlins/gremlins/cmd/gremlins")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	return build.Run()
}

// unleash runs gremlins over pkg with one worker, and writes what it found to file. It prints the mutants that lived or
// that no test reaches as it comes to them.
func unleash(ctx context.Context, root, work, pkg, file string) error {
	real, err := exec.LookPath("go")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(work, "gremlins"), "unleash", "./"+pkg, "--output", file, "--workers", "1",
		"--timeout-coefficient", "60", "--output-statuses", "lctv", "--invert-logical", "--invert-loopctrl")
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+work+string(filepath.ListSeparator)+os.Getenv("PATH"), realGo+"="+real,
		// Neither what vet says nor debug symbols matter here, and each mutant is linked once.
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -vet=off -ldflags=-w")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // gremlins then takes its copies away
	return cmd.Run()
}
