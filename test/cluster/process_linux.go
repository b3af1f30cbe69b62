package cluster

import (
	"os"
	"syscall"
)

// dieWithParent puts a child into a group of its own and has the kernel kill it when this process ends, however it ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ownHost is dieWithParent with a host name and mounts of the child's own. Who is not root needs a kernel that lets
// everybody make user namespaces; without it the child cannot be started.
func ownHost() *syscall.SysProcAttr {
	a := dieWithParent()
	a.Cloneflags = syscall.CLONE_NEWUTS | syscall.CLONE_NEWNS
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	return a
}

// inNamespaces is dieWithParent with namespaces of the child's own, as flags of clone(2).
func inNamespaces(flags uintptr) *syscall.SysProcAttr {
	a := dieWithParent()
	a.Cloneflags = flags
	return a
}
