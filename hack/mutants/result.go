package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
)

// result is what a run of go test -json said.
type result struct {
	exitedBad   bool     // the go command's exit code was not 0
	buildFailed bool     // something did not compile, so no test was asked
	passed      int      // tests that passed
	tests       []string // tests that failed, in the order they ended
	specs       []string // Ginkgo specs that failed, from its summary
	output      []string // all that was printed
}

// event is one line of go test -json (cmd/test2json), as far as it matters here.
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// tailLines is how much of a run's output is shown when it proves nothing.
const tailLines = 30

// parse reads the output of go test -json. Lines that are not JSON are kept as output.
func parse(stdout io.Reader, stderr string, exitedBad bool) result {
	res := result{exitedBad: exitedBad}
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			res.take(e)
		} else if line != "" {
			res.output = append(res.output, strings.TrimRight(line, "\n"))
		}
		if err != nil {
			break
		}
	}
	if stderr != "" {
		res.output = append(res.output, strings.Split(strings.TrimRight(stderr, "\n"), "\n")...)
	}
	return res
}

// take folds one event into the result.
func (r *result) take(e event) {
	switch {
	case e.Action == "build-fail", e.FailedBuild != "":
		r.buildFailed = true
	case e.Action == "pass" && e.Test != "":
		r.passed++
	case e.Action == "fail" && e.Test != "":
		r.tests = append(r.tests, e.Test)
	case e.Action == "output" || e.Action == "build-output":
		text := strings.TrimRight(e.Output, "\n")
		r.output = append(r.output, text)
		if spec, is := strings.CutPrefix(strings.TrimSpace(plain(text)), "[FAIL] "); is {
			r.specs = append(r.specs, spec)
		}
	}
}

// failed says that the run did not end well.
func (r result) failed() bool { return r.exitedBad || len(r.tests) > 0 }

// killer names the test that failed: a Ginkgo spec if one is named, else the innermost test that ended first. "" is none.
func (r result) killer() string {
	if len(r.specs) > 0 {
		return r.specs[0]
	}
	if len(r.tests) > 0 {
		return r.tests[0] // subtests end before the test they belong to
	}
	return ""
}

// tail is the end of the output, for a person.
func (r result) tail() string {
	lines := r.output
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}

// plain returns s without the escape sequences that colour a terminal.
func plain(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}
