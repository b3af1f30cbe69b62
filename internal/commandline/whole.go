package commandline

import (
	"flag"
	"fmt"
)

// Whole returns an error when something was left over once fs was parsed. The flag package ends at the first argument that is
// no flag, such as the value in `--watch-all-namespaces false`, and leaves every flag after it out without a word.
func Whole(fs *flag.FlagSet) error {
	if fs.NArg() == 0 {
		return nil
	}
	return fmt.Errorf("%q is no flag, and neither it nor what follows it is read; give a flag its value as --flag=value", fs.Arg(0))
}
