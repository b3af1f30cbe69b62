package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// passwords are the Git passwords of the world in every spelling in which one could get out. Each world has others, so one
// that is found has leaked.
func passwords() map[string]string {
	all := map[string]string{}
	for _, user := range []string{cluster.GitHoldfast, cluster.GitBob, cluster.GitFlux} {
		p := world.Git.Password(user)
		all[p], all[url.QueryEscape(p)] = user, user
		all[base64.StdEncoding.EncodeToString([]byte(p))] = user
		all[strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(user+":"+p)), "=")] = user
	}
	return all
}

// leaks names every place that people may read and that shows a Git password: logs, metrics, Events, and the objects of
// Holdfast and Flux.
func leaks(ctx context.Context) []string {
	GinkgoHelper()
	var found []string
	look := func(where string, text []byte) {
		for p, user := range passwords() {
			if bytes.Contains(text, []byte(p)) {
				found = append(found, fmt.Sprintf("%s shows the password of %s", where, user))
			}
		}
	}
	logs := 0
	Expect(filepath.WalkDir(world.LogDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		logs += len(text)
		look(path, text)
		return err
	})).To(Succeed())
	Expect(logs).NotTo(BeZero(), "there are logs to look into")
	for name, at := range map[string]string{cluster.Gitmirror: world.GitmirrorMetricsURL(), cluster.Holder: world.HolderStatusURL() + "/metrics"} {
		if world.Running(name) {
			text, err := get(ctx, at)
			Expect(err).NotTo(HaveOccurred())
			look(at, text)
		}
	}
	c, err := world.Client(cluster.Admin)
	Expect(err).NotTo(HaveOccurred())
	for _, list := range []client.ObjectList{
		&corev1.EventList{}, &kustomizev1.KustomizationList{}, &v1alpha1.GitProviderList{}, &v1alpha1.GitTargetList{}, &v1alpha1.WatchRuleList{},
		&v1alpha1.FluxTriggerList{}, &v1alpha1.KubeProviderList{},
	} {
		Expect(c.List(ctx, list)).To(Succeed())
		text, err := json.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		look(fmt.Sprintf("%T", list), text)
	}
	return found
}

// get reads a page of one of the programs.
func get(ctx context.Context, at string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return io.ReadAll(res.Body)
}

// gitmirrorCounts is what gitmirror has counted of its own, or why that cannot be read.
func gitmirrorCounts() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	page, err := get(ctx, world.GitmirrorMetricsURL())
	if err != nil {
		return err.Error()
	}
	own := ""
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "holdfast_") {
			own += line
		}
	}
	return own
}
