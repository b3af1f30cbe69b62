package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// realGo names the environment variable with the path of the go command this program stands in for.
const realGo = "HOLDFAST_MUTATE_GO"

// Exit codes as gremlins reads them: the tests noticed the mutant, or it does not compile and proves nothing.
const (
	exitNoticed   = 1
	exitNotViable = 2
)

// maxMemory is how many bytes the tests of a mutant, and what compiles them, may map.
const maxMemory = 8 << 30

// standIn runs the real go command with args and returns its exit code, with two corrections gremlins needs.
//
// A coverage profile knows statements alone, and gremlins never tries a mutant outside of one. The condition of a case
// belongs to no statement, and so do constants; that is where a core that decides by one switch has its rules. They are
// added to the profile, see cases.go.
//
// And `go test` exits with 1 when a test failed as well as when nothing compiled, but only the former is a mutant noticed.
func standIn(args []string) int {
	// A mutant may ask for memory without end; the tests fail then, and nothing else on the machine does.
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: maxMemory, Max: maxMemory}); err != nil {
		fmt.Fprintln(os.Stderr, "mutate: bound the memory of a mutant:", err)
	}
	var out bytes.Buffer
	cmd := exec.Command(os.Getenv(realGo), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, io.MultiWriter(os.Stdout, &out), io.MultiWriter(os.Stderr, &out)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && strings.Contains(out.String(), "[build failed]"):
		return exitNotViable
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutate: run the go command:", err)
		return exitNotViable
	}
	if i := slices.Index(args, "-coverprofile"); i >= 0 && i+1 < len(args) {
		if err := addCases(args[i+1]); err != nil {
			fmt.Fprintln(os.Stderr, "mutate: add the cases to the coverage profile:", err)
			return exitNotViable
		}
	}
	return 0
}
