package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// needs are the programs that a node or its stories call, with the Debian package that brings each.
var needs = []struct{ command, pkg string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"iptables", "iptables"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
	{"curl", "curl"}, // which the guide for an install prints
}

// cniDirs are where distributions put the plugins of CNI; the first that has them is used.
var cniDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// Missing says what this machine lacks for a node, with what to do about it; nil when a node can be started.
func Missing() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a node needs Linux, and this is %s", runtime.GOOS)
	}
	var errs []error
	if os.Geteuid() != 0 {
		errs = append(errs, errors.New("a node needs root: run the tests as root"))
	}
	for _, n := range needs {
		if _, err := exec.LookPath(n.command); err != nil {
			errs = append(errs, fmt.Errorf("%s is missing: apt-get install %s", n.command, n.pkg))
		}
	}
	if _, err := pluginDir(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		if err := tryNamespaces(); err != nil {
			errs = append(errs, fmt.Errorf("root may not make namespaces here: %w; run it on a machine, or in a container with all privileges", err))
		}
	}
	return errors.Join(errs...)
}

// pluginDir is where the plugins of CNI are.
func pluginDir() (string, error) {
	for _, dir := range cniDirs {
		if _, err := os.Stat(filepath.Join(dir, "ptp")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("the plugins of CNI are missing: apt-get install containernetworking-plugins")
}
