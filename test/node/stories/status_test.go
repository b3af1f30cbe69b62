package stories

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/node"
)

// forward runs the command that the page about the status prints until the story ends, and returns the URL of its near end.
func forward(ctx context.Context) string {
	GinkgoHelper()
	run := blocks("status.md")
	Expect(run).To(HaveLen(1))
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", "exec "+run[0]) // so that what is killed is kubectl
	cmd.Env = environment()
	out, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, which is no success
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	Expect(err).NotTo(HaveOccurred(), "what it says first is where it listens")
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(said)
	Expect(address).NotTo(BeEmpty(), said)
	Expect(address).To(HaveSuffix(":9797"), "as the page goes on to say")
	return "http://localhost:9797"
}

// visit gets a page.
func visit(url string) (status int, kind, body string) {
	GinkgoHelper()
	resp, err := (&http.Client{Timeout: 10 * time.Second}).Get(url)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(content)
}

// peer is a pod in the namespace that can be told to get a URL, also under another name; it goes with the story.
func peer(ctx context.Context, namespace string) (get func(url ...string) (string, error)) {
	GinkgoHelper()
	kubectl(ctx, "-n", namespace, "run", "peer", "--image="+node.PeerImage, "--restart=Never", "--", "pause")
	DeferCleanup(func(ctx SpecContext) {
		kubectl(ctx, "-n", namespace, "delete", "pod", "peer", "--grace-period=1")
	}, NodeTimeout(podBound))
	kubectl(ctx, "-n", namespace, "wait", "--for=condition=Ready", "pod/peer", "--timeout="+podBound.String())
	return func(url ...string) (string, error) {
		return world.Kubectl(ctx, cluster.Admin, append([]string{"-n", namespace, "exec", "peer", "--", "/peer", "get"}, url...)...)
	}
}

func statusStories() {
	BeforeAll(func(ctx SpecContext) { installed(ctx) })

	It("is shown to who comes by a port-forward", storyBound, func(ctx SpecContext) {
		controllerPod(ctx)
		at := forward(ctx)
		code, kind, body := visit(at + "/status")
		Expect(code).To(Equal(http.StatusOK), body)
		Expect(kind).To(HavePrefix("application/json"))
		Expect(body).To(MatchRegexp(`"name": ?"team-a"`))

		code, kind, body = visit(at + "/")
		Expect(code).To(Equal(http.StatusOK), body)
		Expect(kind).To(HavePrefix("text/html"))
		Expect(body).To(ContainSubstring("team-a"))
	})

	It("is refused to other pods, which may read metrics and probes", storyBound, func(ctx SpecContext) {
		pod := controllerPod(ctx)
		get := peer(ctx, "team-a")
		at := "http://" + pod.Status.PodIP + ":9797"
		for path, want := range map[string]string{"/": "403 ", "/status": "403 ", "/metrics": "200 ", "/healthz": "200 ", "/readyz": "200 ", "/startz": "200 "} {
			said, err := get(at + path)
			Expect(err).NotTo(HaveOccurred())
			Expect(said).To(HavePrefix(want), path)
			if path == "/" || path == "/status" {
				Expect(said).NotTo(ContainSubstring("team-a"), path)
			}
			said, err = get(at+path, "localhost")
			Expect(err).NotTo(HaveOccurred())
			Expect(said).To(HavePrefix(want), path+" by the name localhost")
			if path == "/metrics" {
				Expect(strings.Contains(said, "holdfast_holder_")).To(BeTrue(), "these are the holder's metrics")
			}
		}
	})
}
