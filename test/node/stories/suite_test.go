// Package stories tells stories on a real node: Flux in pods from upstream's own manifests, Holdfast installed with its chart
// from its own image, holders put in by the real webhook. They are told in order on one node, because an install comes
// first and an uninstall last.
//
// Where no node can be started the suite is skipped and says why; REQUIRE_NODE=1 makes that a failure.
package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/node"
)

// storyBound is for one story, on a busy machine.
const storyBound = SpecTimeout(4 * time.Minute)

var (
	n     *node.Node
	world *cluster.World
)

// needNode skips the test where no node can be started, or fails it where one is required.
func needNode(t *testing.T) {
	t.Helper()
	if err := node.Missing(); err != nil {
		if os.Getenv("REQUIRE_NODE") == "1" {
			t.Fatalf("REQUIRE_NODE=1, and no node can be started here:\n%v", err)
		}
		t.Skipf("no node can be started here:\n%v", err)
	}
}

func TestStories(t *testing.T) {
	needNode(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "Stories on a real node")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	n, err = node.Start(context.WithoutCancel(ctx), node.Options{Out: GinkgoWriter}) // it outlives the context of this function
	Expect(err).NotTo(HaveOccurred())
	world = n.World
	Expect(n.InstallFlux(ctx)).To(Succeed())
	Expect(n.ImportHoldfast(ctx, chartImage())).To(Succeed())
	Expect(n.PrepareHelm(ctx)).To(Succeed())
}, NodeTimeout(50*time.Minute)) // a cold build of the control plane is most of it

var _ = AfterSuite(func() {
	if n != nil {
		Expect(n.Stop()).To(Succeed())
	}
})

// chartImage is the image that the chart names when nobody says another.
func chartImage() string {
	GinkgoHelper()
	var chart struct{ AppVersion string }
	var values struct {
		Image struct{ Repository, Tag string }
	}
	for file, into := range map[string]any{"Chart.yaml": &chart, "values.yaml": &values} {
		content, err := os.ReadFile(filepath.Join(world.Checkout(), "charts", "holdfast", file))
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.Unmarshal(content, into)).To(Succeed())
	}
	Expect(values.Image.Tag).To(BeEmpty())
	return values.Image.Repository + ":" + chart.AppVersion
}

var _ = ReportAfterEach(func(report SpecReport) {
	if !report.Failed() || n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for title, args := range map[string]string{
		"pods":                 "get pods -A -o wide",
		"events":               "get events -A --sort-by=.metadata.creationTimestamp",
		"triggers":             "get fluxtriggers -A -o yaml --show-managed-fields=false",
		"kustomizations":       "get kustomizations.kustomize.toolkit.fluxcd.io -A -o yaml --show-managed-fields=false",
		"kustomize-controller": "-n flux-system logs -l app=kustomize-controller --all-containers --prefix --tail=60",
		"gitmirror":            "-n holdfast-system logs -l app.kubernetes.io/component=gitmirror --prefix --tail=40",
		"injector":             "-n holdfast-system logs -l app.kubernetes.io/component=injector --prefix --tail=40",
	} {
		out, err := world.Kubectl(ctx, cluster.Admin, strings.Fields(args)...)
		if err != nil {
			out += err.Error()
		}
		AddReportEntry(title, out)
	}
	AddReportEntry("kubelet", world.LogTail(cluster.Kubelet))
})

// The time that each part took, whatever became of it.
var _ = ReportAfterSuite("how long each part took", func(report Report) {
	if n == nil {
		return
	}
	var out strings.Builder
	for _, p := range n.Timings() {
		fmt.Fprintf(&out, "%6.1fs  %s\n", p.Took.Seconds(), p.Name)
	}
	for _, s := range report.SpecReports {
		if s.RunTime > 100*time.Millisecond {
			fmt.Fprintf(&out, "%6.1fs  %s %s\n", s.RunTime.Seconds(), s.LeafNodeType, s.LeafNodeText)
		}
	}
	fmt.Fprintf(&out, "%6.1fs  together\n", report.RunTime.Seconds())
	fmt.Print(out.String())
})

// kubectl runs kubectl as the administrator and returns what it printed.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := world.Kubectl(ctx, cluster.Admin, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}
