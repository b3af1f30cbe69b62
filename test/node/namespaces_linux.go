package node

import (
	"os/exec"
	"syscall"
)

// ownNamespaces are what a node has of its own, as flags of clone(2).
const ownNamespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// tryNamespaces starts a program that does nothing in namespaces of its own.
func tryNamespaces() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: ownNamespaces}
	return cmd.Run()
}
