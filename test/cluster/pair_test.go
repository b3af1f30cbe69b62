package cluster

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

func TestWhatRunsInAPodSeesThePodsNameAndNamespaceAndNobodyElseDoes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Fatal("only Linux gives a process a host name of its own")
	}
	dir := t.TempDir()
	w := &World{Dir: dir}
	pod, err := buildcache.Cache{Dir: dir, Out: t.Output()}.BuildProduct(t.Context(), "..", "pod", "./cluster/pod")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.path("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (binaries{"pod": pod, "whoami": program}).linkInto(w.path("bin")); err != nil {
		t.Fatal(err)
	}
	if err := makePod(w.podRun("kc-a")); err != nil {
		t.Fatal(err)
	}
	before, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	path, args, attr := w.command(component{name: In("kc-a", "whoami"), program: "whoami", pod: "kc-a"})
	p, err := startProcess("whoami", path, args, playing("whoami"), filepath.Join(dir, "log"), attr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.kill() }()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if err := p.waitReady(ctx, logged(p)); err != nil {
		t.Fatal(err)
	}
	if said := tail(p.log); !strings.Contains(said, "kc-a in "+FluxNamespace) {
		t.Errorf("it says: %s", said)
	}
	if now, err := os.Hostname(); err != nil || now != before {
		t.Errorf("this machine was called %s and is called %s, %v", before, now, err)
	}
	if err := p.kill(); err != nil || syscall.Kill(p.cmd.Process.Pid, 0) != syscall.ESRCH {
		t.Errorf("after a kill: %v", err)
	}
}

func TestOfTwoPairsOneLeadsAndTheOtherTakesOverWhenItIsGone(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	w, err := Start(ctx, Options{Out: t.Output()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(w.Stop()).To(Succeed()) })
	g.Expect(w.Kill(KustomizeController)).To(Succeed())
	admin, err := w.Client(Admin)
	g.Expect(err).NotTo(HaveOccurred())
	lease := func(name string) (*coordinationv1.Lease, error) {
		l := &coordinationv1.Lease{}
		return l, admin.Get(ctx, client.ObjectKey{Namespace: FluxNamespace, Name: name}, l)
	}
	leader := func() (string, error) {
		l, err := lease("kustomize-controller-leader-election")
		if l.Spec.HolderIdentity == nil {
			return "", err
		}
		return *l.Spec.HolderIdentity, err
	}

	g.Expect(w.StartPair(ctx, Pair{Pod: "kc-a"})).To(Succeed())
	g.Eventually(leader).WithTimeout(bound).Should(HavePrefix("kc-a_"))
	g.Expect(w.StartPair(ctx, Pair{Pod: "kc-b", Ahead: 2 * time.Minute})).To(Succeed())
	g.Expect(w.StartPair(ctx, Pair{Pod: "kc-b"})).To(MatchError(ContainSubstring("there already")))

	t.Log("each holder has a Lease of its own, with the time of its own clock")
	for pod, ahead := range map[string]time.Duration{"kc-a": 0, "kc-b": 2 * time.Minute} {
		g.Eventually(func(g Gomega) {
			l, err := lease("holdfast-holder-" + pod)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(l.Spec.RenewTime.Time).To(BeTemporally("~", time.Now().Add(ahead), 30*time.Second))
		}).WithTimeout(bound).Should(Succeed())
	}

	t.Log("the second takes over when the Lease has run out")
	g.Expect(w.StopPair("kc-a", false)).To(Succeed())
	g.Eventually(leader).WithTimeout(2 * PairLease).Should(HavePrefix("kc-b_"))

	t.Log("a holder that stops in order leaves no Lease")
	g.Expect(w.StopPair("kc-b", true)).To(Succeed())
	_, err = lease("holdfast-holder-kc-b")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	_, err = lease("holdfast-holder-kc-a")
	g.Expect(err).NotTo(HaveOccurred())

	t.Log("arguments of a restart last until the next one")
	g.Expect(w.RestartWith(ctx, SourceController, "--no-such-flag")).To(MatchError(ContainSubstring("unknown flag")))
	g.Expect(w.Running(SourceController)).To(BeFalse())
}
