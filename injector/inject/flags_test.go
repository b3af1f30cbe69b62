package inject

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
)

func TestFlagsAreReadAsTheControllerReadsThem(t *testing.T) {
	variables := []corev1.EnvVar{
		{Name: "LIST", Value: "--watch-label-selector=a=$(KEY)"},
		{Name: "KEY", Value: "b"},
		{Name: "DOLLAR", Value: "--events-addr=http://a$$b"},
		{Name: "LATE", ValueFrom: &corev1.EnvVarSource{}},
		{Name: "KEYED", Value: "--watch-label-selector=a=$(KEY)"},
	}
	for _, row := range []struct {
		name, args, flag, want string
	}{
		{"the last of two counts", "--events-addr=a --events-addr=b", "events-addr", "b"},
		{"the word after a flag is its value", "--events-addr a", "events-addr", "a"},
		{"also one that looks like a flag", "--events-addr --watch-label-selector=x", "events-addr", "--watch-label-selector=x"},
		{"a value may have a =", "--watch-label-selector=a=b", "watch-label-selector", "a=b"},
		{"a bool flag takes no word", "--enable-leader-election false", "enable-leader-election", "true"},
		{"a bool flag is false with a =", "--enable-leader-election=false", "enable-leader-election", "false"},
		{"a flag that is not known takes a word", "--concurrent 10 --events-addr=a", "events-addr", "a"},
		{"a flag that is not known takes no flag", "--new-switch --events-addr=a", "events-addr", "a"},
		{"a flag at the end has no value", "--events-addr=a --events-addr", "events-addr", ""},
		{"nor has one that is not known", "--events-addr=a --concurrent", "events-addr", "a"},
		{"words between flags are passed over", "run --events-addr=a", "events-addr", "a"},
		{"two dashes end the flags", "--events-addr=a -- --events-addr=b", "events-addr", "a"},
		{"a value that only the node knows stays a reference", "--watch-label-selector=$(LATE)", "watch-label-selector", "$(LATE)"},
		{"an argument may be a variable", "$(KEYED)", "watch-label-selector", "a=b"},
		{"a variable sees only those before it", "$(LIST)", "watch-label-selector", "?"},
		{"a dollar of a variable stays one", "$(DOLLAR)", "events-addr", "http://a$$b"},
		{"an argument that only the node knows is none", "--events-addr=a $(LATE)", "events-addr", "?"},
		{"nor is one of no variable", "$(NONE)", "events-addr", "?"},
		{"nor one whose name a variable ends", "--events-$(LATE)=a", "events-addr", "?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			given, ok := readFlags(strings.Fields(row.args), environmentOf(variables))
			got := given.last(row.flag)
			if !ok {
				got = "?"
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	given, _ := readFlags([]string{"--feature-gates=A=true", "--feature-gates=", "--feature-gates", "B=false, C=true"}, nil)
	if got := given.list("feature-gates"); got != "A=true,B=false, C=true" {
		t.Errorf("gates add up to %q", got)
	}
}

// gates adds up, as the feature gates of Flux do.
type gates []string

func (g *gates) String() string { return strings.Join(*g, ",") }
func (g *gates) Type() string   { return "gates" }
func (g *gates) Set(s string) error {
	if s != "" {
		*g = append(*g, s)
	}
	return nil
}

// FuzzFlags compares with the library kustomize-controller reads its flags with: one line of text is one argument.
func FuzzFlags(f *testing.F) {
	for _, seed := range []string{
		"--enable-leader-election\n--watch-label-selector\na=b\n--\n--events-addr=x",
		"--concurrent\n-5\n--events-addr\n--enable-leader-election\n--watch-all-namespaces=0",
		"--feature-gates=A=true\n--feature-gates\nB=false\n-\n--no-remote-bases=\n---x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 || strings.Contains(text, "$") {
			t.Skip("longer than a command line, or with variables, which pflag does not know")
		}
		args := strings.Split(text, "\n")
		fs := pflag.NewFlagSet("kustomize-controller", pflag.ContinueOnError)
		fs.SetOutput(io.Discard)
		fs.Usage = func() {}
		values, switches, pairs := map[string]*string{}, map[string]*bool{}, gates{}
		for _, name := range []string{"events-addr", "health-addr", "metrics-addr", "watch-label-selector"} {
			values[name] = fs.String(name, "", "")
		}
		for _, name := range boolFlags {
			if name != "help" {
				switches[name] = fs.Bool(name, false, "")
			}
		}
		fs.Var(&pairs, "feature-gates", "")
		fs.Int("concurrent", 4, "")
		fs.Duration("requeue-dependency", 0, "")
		if fs.Parse(args) != nil {
			t.Skip("the controller would not start")
		}
		given, ok := readFlags(args, nil)
		if !ok {
			t.Fatal("they cannot be read")
		}
		for name, want := range values {
			if got := given.last(name); got != *want {
				t.Errorf("--%s is %q, pflag reads %q", name, got, *want)
			}
		}
		for name, want := range switches {
			if got, _ := strconv.ParseBool(given.last(name)); got != *want {
				t.Errorf("--%s is %t, pflag reads %t", name, got, *want)
			}
		}
		if got := given.list("feature-gates"); got != pairs.String() {
			t.Errorf("--feature-gates are %q, pflag reads %q", got, pairs.String())
		}
	})
}

func TestTheControllersArgumentsAreThoseOfTheProgramItself(t *testing.T) {
	env := environmentOf([]corev1.EnvVar{{Name: "PROGRAM", Value: "/bin/kustomize-controller"}, {Name: "FLAG", Value: "--a"}, {Name: "SHELL", Value: "sh"}, {Name: "NOTHING"}})
	for _, row := range []struct {
		name          string
		command, args []string
		want          string
	}{
		{"of the image's own program they are all", nil, []string{"--a", "--b"}, "--a --b"},
		{"there may be none", nil, nil, ""},
		{"a path to the program is not one", nil, []string{"/usr/local/bin/kustomize-controller", "--a"}, "--a"},
		{"also where a variable says it", nil, []string{"$(PROGRAM)", "--a"}, "--a"},
		{"a variable may be the first", nil, []string{"$(FLAG)", "--b"}, "$(FLAG) --b"},
		{"also one whose value only the node knows", nil, []string{"$(LATE)", "--b"}, "$(LATE) --b"},
		{"also one with nothing in it", nil, []string{"$(NOTHING)", "--b"}, "$(NOTHING) --b"},
		{"B20: a flag's value is not the program", nil, []string{"--a", "--watch-label-selector=x/kustomize-controller"}, "--a --watch-label-selector=x/kustomize-controller"},
		{"nor is the word after a flag", nil, []string{"--a=b", "--override-manager", "kustomize-controller"}, "--a=b --override-manager kustomize-controller"},
		{"nor a flag with a command", []string{"kustomize-controller", "--a=x/kustomize-controller"}, []string{"--b"}, "--a=x/kustomize-controller --b"},
		{"an image without a program starts the first", nil, []string{"sh", "-c", "kustomize-controller --a"}, "?"},
		{"also when a variable says it", nil, []string{"$(SHELL)", "kustomize-controller"}, "?"},
		{"an image may end the flags of its init, or ours", nil, []string{"--", "kustomize-controller", "--a"}, "?"},
		{"an init is not the program", []string{"tini", "--", "kustomize-controller", "--a"}, []string{"--b"}, "--a --b"},
		{"nor are the init's flags its arguments", []string{"/sbin/tini", "-g", "-s", "--", "/usr/local/bin/kustomize-controller"}, []string{"--b"}, "--b"},
		{"an init may do without the dashes", []string{"dumb-init"}, []string{"kustomize-controller", "--b"}, "--b"},
		{"an init may start something else", []string{"tini", "--", "sh", "-c"}, []string{"kustomize-controller --a"}, "?"},
		{"or nothing", []string{"tini", "--"}, nil, "?"},
		{"an init's flag with a value is not known", []string{"tini", "-p", "SIGTERM", "--", "kustomize-controller"}, nil, "?"},
		{"another program may do anything with them", []string{"dlv", "exec"}, []string{"--a"}, "?"},
		{"also with the program's name", []string{"dlv", "exec", "/usr/local/bin/kustomize-controller", "--", "--a"}, nil, "?"},
		{"and so may env", []string{"env", "-S", "kustomize-controller --a"}, nil, "?"},
		{"a shell too", []string{"sh", "-c", "kustomize-controller --a"}, nil, "?"},
		{"also one that is given the program alone", []string{"sh", "-c", "kustomize-controller"}, []string{"--a"}, "?"},
		{"with more flags", []string{"sh", "-ec", "kustomize-controller"}, []string{"--a"}, "?"},
		{"or of a login", []string{"/bin/sh", "-lc", "/usr/local/bin/kustomize-controller"}, nil, "?"},
		{"a file of the program's name may be a script", []string{"/bin/sh", "/etc/kustomize-controller"}, []string{"--a"}, "?"},
		{"a script that ends in its name is not the program", []string{"echo /kustomize-controller"}, nil, "?"},
		{"nor is a flag", []string{"-a/kustomize-controller"}, nil, "?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			args, ok := argumentsOf(&corev1.Container{Command: row.command, Args: row.args}, Flux, env)
			got := strings.Join(args, " ")
			if !ok {
				got = "?"
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
