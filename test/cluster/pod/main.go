//go:build linux

// Command pod runs a program as the container of a pod sees the machine: under a host name of its own, which is the pod's,
// and with the pod's namespace where Kubernetes puts it. It expects UTS and mount namespaces of its own, which whoever
// starts it asks the kernel for.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: pod host-name run-folder program [argument ...]")
		os.Exit(2)
	}
	err := become(os.Args[1], os.Args[2])
	if err == nil {
		err = syscall.Exec(os.Args[3], os.Args[3:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "pod:", err)
	os.Exit(1)
}

// become takes the host name and puts the folder in the place of /var/run, for this process and its children alone.
func become(host, folder string) error {
	if err := syscall.Sethostname([]byte(host)); err != nil {
		return fmt.Errorf("take the host name %s: %w", host, err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to itself: %w", err)
	}
	run, err := filepath.EvalSymlinks("/var/run")
	if err != nil {
		return err
	}
	if err := syscall.Mount(folder, run, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("put %s in the place of %s: %w", folder, run, err)
	}
	return nil
}
