package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Kubectl runs kubectl as user and returns what it printed, errors included.
func (w *World) Kubectl(ctx context.Context, user string, args ...string) (string, error) {
	return w.KubectlInput(ctx, user, "", args...)
}

// KubectlInput is Kubectl with input on its standard input, as for `apply -f -`.
func (w *World) KubectlInput(ctx context.Context, user, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, w.KubectlPath(), args...)
	cmd.Env = w.environment("KUBECONFIG=" + w.Kubeconfig(user))
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s as %s: %w: %s", strings.Join(args, " "), user, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// KubectlPath is a kubectl of the API server's version.
func (w *World) KubectlPath() string { return w.path("bin/kubectl") }
