package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// The README's first block is make's, whose targets are what runs this.
func TestTheCommandsOfTheReadmeMakeTheExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(world.Checkout(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var run []string
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if !strings.HasPrefix(m[1], "make ") {
			run = append(run, m[1])
		}
	}
	if len(run) != 1 {
		t.Fatalf("%d blocks are not make's, and there should be one", len(run))
	}
	kubectl(t, "delete", "namespace", "team-a", "--timeout=60s") // the README makes it

	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", run[0])
	cmd.Dir = world.Checkout()
	cmd.Env = []string{"PATH=" + filepath.Dir(world.KubectlPath()) + ":" + os.Getenv("PATH"), "HOME=" + world.Dir, "KUBECONFIG=" + world.Kubeconfig(cluster.Admin)}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made := kubectl(t, "-n", "team-a", "get", "gitprovider/fleet", "gittarget/fleet", "watchrule/workloads", "fluxtrigger/team-a", "-o", "name")
	if got := len(strings.Fields(made)); got != 4 {
		t.Errorf("%d of the four objects are there:\n%s", got, made)
	}
	kubectl(t, "get", "clusterrole", "holdfast-holder", "holdfast-gitmirror")
}
