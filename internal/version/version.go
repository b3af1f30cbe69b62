package version

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// number is set by the linker when a release or an image is built:
//
//	-ldflags "-X github.com/holdfast-gitops/holdfast/internal/version.number=v1.2.3"
var number string

// Number is the version the linker was told, else the one the go command found: the module's, or one made from the commit
// of the checkout. It is "unknown" for a build that was told neither.
func Number() string {
	info, _ := debug.ReadBuildInfo() // nil for a program built without modules
	return numberOf(number, info)
}

func numberOf(told string, info *debug.BuildInfo) string {
	found := ""
	if info != nil && info.Main.Version != "(devel)" {
		found = info.Main.Version
	}
	return cmp.Or(told, found, "unknown")
}

// Line is what `program --version` prints: the program, its version, and what it was built with and for.
func Line(program string) string {
	return fmt.Sprintf("%s %s (%s, %s/%s)", program, Number(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// AddFlag defines --version, which prints the program's Line to out and calls exit with 0 as soon as it is parsed.
func AddFlag(fs *flag.FlagSet, program string, out io.Writer, exit func(code int)) {
	fs.BoolFunc("version", "print the version and exit", func(string) error {
		fmt.Fprintln(out, Line(program))
		exit(0)
		return nil
	})
}
