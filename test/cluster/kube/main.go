// Command kube is the control plane, the node and kubectl in one binary. The name it is called by, or else its
// first argument, picks the component. One binary links the shared code once, which halves the time to build it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics, as the upstream mains register them
	_ "k8s.io/component-base/metrics/prometheus/version"  // build info metric
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components maps a name to what runs it; each returns the exit code.
var components = map[string]func(args []string) int{
	"etcd":                    func(args []string) int { etcdmain.Main(args); return 0 },
	"kube-apiserver":          runs(apiserver.NewAPIServerCommand),
	"kube-controller-manager": runs(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          runs(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 runs(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kube-proxy":              runs(proxy.NewProxyCommand),
	"kubectl":                 runKubectl,
}

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args
	if components[name] == nil && len(os.Args) > 1 {
		name, args = os.Args[1], os.Args[1:]
	}
	run := components[name]
	if run == nil {
		known := make([]string, 0, len(components))
		for n := range components {
			known = append(known, n)
		}
		slices.Sort(known)
		fmt.Fprintf(os.Stderr, "kube: unknown component %q; call it as, or with, one of: %s\n", name, strings.Join(known, ", "))
		os.Exit(2)
	}
	os.Args = args // the upstream commands read os.Args themselves
	os.Exit(run(args))
}

// runs wraps an upstream command constructor.
func runs(command func() *cobra.Command) func([]string) int {
	return func([]string) int { return cli.Run(command()) }
}

// runKubectl prints errors as kubectl's own main does: without the usage text, with kubectl's exit codes.
func runKubectl([]string) int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
