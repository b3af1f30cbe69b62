package inject

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// flags are the values of a controller's flags as its pod gives them: each text in the order in which it came, with
// references to variables as kubelet will find them.
type flags map[string][]string

// last returns the value that counts of a flag that is set anew each time it comes; "" when it never does.
func (f flags) last(name string) string {
	if given := f[name]; len(given) > 0 {
		return given[len(given)-1]
	}
	return ""
}

// list returns all values of a flag that adds to itself each time it comes, parted by commas.
func (f flags) list(name string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(f[name]), func(v string) bool { return v == "" }), ",")
}

// Flags that matter to a holder, and those that are true alone and so take no word after them. The second list is that of
// kustomize-controller 1.9; Argo CD's controller has more, none of which is followed by a word.
var (
	valueFlags = []string{
		"events-addr", "feature-gates", "health-addr", "metrics-addr", "watch-label-selector", // kustomize-controller
		"application-namespaces", "metrics-port", // argocd-application-controller
	}
	boolFlags = []string{
		"enable-leader-election", "help", "insecure-allow-http", "insecure-kubeconfig-exec", "insecure-kubeconfig-tls",
		"leader-election-release-on-cancel", "no-cross-namespace-refs", "no-remote-bases", "watch-all-namespaces",
	}
)

// readFlags reads arguments as pflag does: --name=value, --name value, a bool flag alone is true, words between flags are
// passed over, and -- ends them. It returns false when an argument may be any flag, because it is a variable whose value is
// not in the pod.
func readFlags(args []string, env *environment) (flags, bool) {
	found := flags{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if name, _, _ := strings.Cut(arg, "="); strings.Contains(name, "$") {
			text, known := env.expand(arg)
			if !known {
				return nil, false
			}
			arg = strings.ReplaceAll(text, "$", "$$")
		}
		if arg == "--" {
			break
		}
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag {
			continue
		}
		name, value, hasValue := strings.Cut(name, "=")
		following := i+1 < len(args)
		switch {
		case hasValue:
		case slices.Contains(boolFlags, name):
			value = "true"
		case slices.Contains(valueFlags, name) && following:
			i++
			value = args[i]
		case following && !strings.HasPrefix(args[i+1], "-"):
			i++ // a flag that is not known here, and its value
			value = args[i]
		}
		found[name] = append(found[name], value)
	}
	return found, true
}

// inits start one program and hand signals on to it: the first word after them and their own flags.
var inits = []string{"tini", "tini-static", "dumb-init", "catatonit"}

// argumentsOf returns what the controller's program is started with. It returns false when that cannot be told: the
// container starts something else, such as a shell or a debugger, that may start the program in its turn. The program's
// name is looked for only where a program stands, because further on it may be the value of a flag.
func argumentsOf(c *corev1.Container, f Flavour, env *environment) ([]string, bool) {
	if len(c.Command) == 0 {
		return argumentsOfImage(c.Args, f, env)
	}
	words := slices.Concat(c.Command, c.Args)
	if slices.Contains(inits, path.Base(words[0])) {
		words = words[1:]
		for len(words) > 0 && strings.HasPrefix(words[0], "-") {
			words = words[1:]
		}
	}
	if len(words) == 0 || !isProgram(words[0], f) {
		return nil, false
	}
	return words[1:], true
}

// argumentsOfImage is argumentsOf a container without a command, so that the image says what is started: the controller, or
// an init that takes the controller from the first argument. With anything else there an image without a program of its
// own starts that.
func argumentsOfImage(args []string, f Flavour, env *environment) ([]string, bool) {
	if len(args) == 0 {
		return nil, true
	}
	first, known := env.expand(args[0])
	switch {
	case isProgram(first, f):
		return args[1:], true
	case !known, first == "", strings.HasPrefix(first, "-") && first != "--":
		return args, true
	}
	return nil, false
}

// isProgram says that a word is the path of the controller's program.
func isProgram(word string, f Flavour) bool {
	return path.Base(word) == string(f) && !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, " \t\n")
}
