// Command mutants breaks promises on purpose and checks that a test notices.
//
// Each mutant of mutants.go takes one line of defence out of one file and names the tests that must fail without it. The
// checkout is never touched: the changed file is laid over it with the go command's -overlay. A mutant that no test
// notices has survived, and the program exits 1; so it does when a mutant no longer fits the source, does not compile,
// or when its tests fail without it, for then its death would prove nothing.
//
//	go run ./hack/mutants                 all of them
//	go run ./hack/mutants -only PATTERN   those whose names match, such as 'simulated-*'
//	go run ./hack/mutants -list           their names and promises
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"syscall"
)

func main() {
	only := flag.String("only", "", "run only the mutants whose names match, with * for anything")
	list := flag.Bool("list", false, "print the mutants and run none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *only, *list)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run runs or lists the mutants chosen; an error says why not every one of them was noticed.
func run(ctx context.Context, only string, list bool) error {
	chosen, err := pick(mutants, only)
	if err != nil {
		return fmt.Errorf("-only=%q: %w", only, err)
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant is named %q; -list prints the names", only)
	}
	if list {
		for _, m := range chosen {
			fmt.Printf("%s\n    %s\n", m.Name, m.Promise)
		}
		return nil
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if !(runner{root: root, out: os.Stdout}).all(ctx, chosen) {
		return errors.New("not every mutant was noticed")
	}
	return nil
}

// pick returns the mutants whose names match the pattern, in the syntax of path.Match, or all of them when it is empty.
func pick(all []Mutant, pattern string) ([]Mutant, error) {
	if pattern == "" {
		return all, nil
	}
	var chosen []Mutant
	for _, m := range all {
		matches, err := path.Match(pattern, m.Name)
		if err != nil {
			return nil, err
		}
		if matches {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}
