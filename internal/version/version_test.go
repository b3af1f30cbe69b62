package version

import (
	"flag"
	"runtime/debug"
	"strings"
	"testing"
)

func TestTheVersionIsTheBestThatIsKnown(t *testing.T) {
	of := func(version string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: version}} }
	for _, c := range []struct {
		name string
		told string
		info *debug.BuildInfo
		want string
	}{
		{"what the linker was told comes first", "v1.2.3", of("v9.9.9"), "v1.2.3"},
		{"without it, what the go command found", "", of("v0.1.1-0.20261130083700-2afc9a8f5c1d"), "v0.1.1-0.20261130083700-2afc9a8f5c1d"},
		{"a build of no known commit has none", "", of("(devel)"), "unknown"},
		{"nor has one whose version is empty", "", of(""), "unknown"},
		{"nor has one without modules", "", nil, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := numberOf(c.told, c.info); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheFlagPrintsOneLineAndEndsTheProgram(t *testing.T) {
	var out strings.Builder
	code := -1
	fs := flag.NewFlagSet("holder", flag.ContinueOnError)
	AddFlag(fs, "holder", &out, func(c int) { code = c })
	if err := fs.Parse([]string{"--version"}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "holder ") || strings.Count(got, "\n") != 1 {
		t.Errorf("it printed %q", got)
	}
	if code != 0 {
		t.Errorf("it exited with %d", code)
	}
}
