package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachMistakeInTheFlagsIsNamed(t *testing.T) {
	good := []string{"--policy=p.yaml", "--namespace=holdfast-system", "--identity=pod"}
	for _, row := range []struct {
		name string
		args []string
		want []string // each is in the error; none: there is none
	}{
		{"the least that is needed", nil, nil},
		{"one address", []string{"--webhook-bind-address=127.0.0.1:9443"}, nil},
		{"no policy", []string{"--policy="}, []string{"--policy is empty"}},
		{"all at once", []string{"--policy=", "--namespace=", "--configuration=", "--secret=", "--identity="}, []string{
			"--policy is empty", "--namespace is empty", "--configuration is empty", "--secret is empty", "--identity is empty",
		}},
		{"no port", []string{"--webhook-bind-address=127.0.0.1"}, []string{"--webhook-bind-address=127.0.0.1:"}},
		{"a port that is none", []string{"--webhook-bind-address=:http"}, []string{"no address and port"}},
		{"a port of zero", []string{"--webhook-bind-address=:0"}, []string{"no address and port"}},
		{"a stop before its time", []string{"--drain=-1s"}, []string{"--drain=-1s"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var s settings
			fs := flag.NewFlagSet("injector", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			s.bind(fs)
			if err := fs.Parse(append(good[:len(good):len(good)], row.args...)); err != nil {
				t.Fatal(err)
			}
			err := s.check()
			if (err == nil) != (len(row.want) == 0) {
				t.Fatalf("error %v", err)
			}
			for _, w := range row.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v does not say %q", err, w)
				}
			}
		})
	}
}

func TestTheNamespaceIsThatOfThePod(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if got := ownNamespace(file); got != "" {
		t.Errorf("without a pod: %q", got)
	}
	if err := os.WriteFile(file, []byte("holdfast-system\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ownNamespace(file); got != "holdfast-system" {
		t.Errorf("in a pod: %q", got)
	}
}
