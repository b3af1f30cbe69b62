package commandline

import (
	"flag"
	"strings"
	"testing"
)

func TestWhatIsNoFlagIsNamedAndNotPassedOver(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		want string // in the error; "": none
	}{
		"flags alone":                  {[]string{"--all=true", "--named=x"}, ""},
		"a value after a space":        {[]string{"--named", "x"}, ""},
		"a value of a switch":          {[]string{"--all", "true", "--named=x"}, `"true" is no flag`},
		"a word":                       {[]string{"--named=x", "serve"}, `"serve" is no flag`},
		"what is said to be no flag":   {[]string{"--", "--named=x"}, `"--named=x" is no flag`},
		"control characters are shown": {[]string{"a\x1b[2Jb"}, `"a\x1b[2Jb"`},
	} {
		t.Run(name, func(t *testing.T) {
			fs := flag.NewFlagSet("program", flag.ContinueOnError)
			fs.Bool("all", false, "")
			fs.String("named", "", "")
			if err := fs.Parse(row.args); err != nil {
				t.Fatal(err)
			}
			if err := Whole(fs); row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}
