package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The Leases of pairs: short, for a story that waits for one to run out, and long enough to be renewed on a busy machine.
const (
	PairLease = 15 * time.Second
	pairRenew = 12 * time.Second
	pairRetry = time.Second
)

// Pair is a kustomize-controller and the holder beside it, as in one pod. Both see the pod's name as their host name, and
// pairs with the same Selector elect which of their controllers leads. In names the two to Kill, Revive, Restart, LogTail
// and PIDs. Linux only.
type Pair struct {
	Pod        string
	Selector   string        // --watch-label-selector of both; "": every Kustomization
	Controller []string      // further arguments of the controller
	Holder     []string      // further arguments of the holder
	Ahead      time.Duration // how far the holder's clock is ahead of the others'; below zero it is behind
}

// In is the name of a component of a pair.
func In(pod, component string) string { return component + "." + pod }

// StartPair starts both and waits until they serve, which a controller does also when another one leads.
func (w *World) StartPair(ctx context.Context, p Pair) error {
	for _, name := range []string{In(p.Pod, KustomizeController), In(p.Pod, Holder)} {
		if w.find(name) != nil {
			return fmt.Errorf("start pair %s: %s is there already", p.Pod, name)
		}
	}
	if err := w.preparePod(ctx, p); err != nil {
		return fmt.Errorf("start pair %s: %w", p.Pod, err)
	}
	ports, err := w.ports.more(3)
	if err != nil {
		return fmt.Errorf("start pair %s: %w", p.Pod, err)
	}
	selector := "--watch-label-selector=" + p.Selector
	controller := w.flux(In(p.Pod, KustomizeController), kustomizeControllerUser, ports[0], ports[1], "--no-remote-bases=true",
		"--enable-leader-election=true", "--leader-election-lease-duration="+PairLease.String(),
		"--leader-election-renew-deadline="+pairRenew.String(), "--leader-election-retry-period="+pairRetry.String(), selector)
	controller.args = slices.Concat(controller.args, p.Controller)
	controller.program, controller.pod = KustomizeController, p.Pod

	holder := w.holder(In(p.Pod, Holder), ports[2], append([]string{"--controller-leader-election", selector}, p.Holder...))
	holder.program, holder.pod = holderProgram(p.Ahead), p.Pod
	holder.env = []string{"RUNTIME_NAMESPACE=" + FluxNamespace}

	for _, c := range []component{controller, holder} {
		if err := w.run(ctx, c); err != nil {
			return fmt.Errorf("start pair %s: %w", p.Pod, err)
		}
	}
	return nil
}

// StopPair stops what runs of a pair: with SIGTERM when graceful, first the controller and then the holder, as a pod
// stops its sidecars last; else both with SIGKILL, as when the node is gone.
func (w *World) StopPair(pod string, graceful bool) error {
	for _, name := range []string{In(pod, KustomizeController), In(pod, Holder)} {
		r := w.find(name)
		if r == nil {
			continue
		}
		how := (*process).kill
		if graceful {
			how = func(p *process) error { return p.stop(r.grace) }
		}
		if err := w.end(name, how); err != nil {
			return fmt.Errorf("stop pair %s: %w", pod, err)
		}
	}
	return nil
}

// preparePod builds what the pair runs and makes its folder.
func (w *World) preparePod(ctx context.Context, p Pair) error {
	if err := w.buildProgram(ctx, filepath.Join(w.root, "test"), "pod", "./cluster/pod"); err != nil {
		return err
	}
	flags, err := w.clockFlags(p.Ahead)
	if err != nil {
		return err
	}
	if err := w.buildProgram(ctx, w.root, holderProgram(p.Ahead), "./sidecar", flags...); err != nil {
		return err
	}
	return makePod(w.podRun(p.Pod))
}

// makePod makes the folder that a pod's processes see as /var/run: in it is the namespace, and nothing else.
func makePod(run string) error {
	account := filepath.Join(run, "secrets", "kubernetes.io", "serviceaccount")
	if err := os.MkdirAll(account, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(account, "namespace"), []byte(FluxNamespace), 0o644)
}

func (w *World) podRun(pod string) string { return w.path("pods/" + pod) }

// holderProgram names the holder whose clock is that far ahead.
func holderProgram(ahead time.Duration) string {
	if ahead == 0 {
		return Holder
	}
	return Holder + "-clock" + ahead.String()
}

// clockFlags make go build put another clock into the holder: its file of one function is replaced, and nothing else.
func (w *World) clockFlags(ahead time.Duration) ([]string, error) {
	if ahead == 0 {
		return nil, nil
	}
	clock, overlay := w.path("tmp/now.go"), w.path("tmp/overlay.json")
	text := fmt.Sprintf("package main\n\nimport \"time\"\n\nfunc now() time.Time { return time.Now().Add(%d) }\n", ahead)
	if err := os.WriteFile(clock, []byte(text), 0o644); err != nil {
		return nil, err
	}
	replace := fmt.Sprintf(`{"Replace": {%q: %q}}`, filepath.Join(w.root, "sidecar", "now.go"), clock)
	return []string{"-overlay=" + overlay}, os.WriteFile(overlay, []byte(replace), 0o644)
}
