//go:build unix && !linux

package cluster

import "syscall"

// dieWithParent puts a child into a group of its own. Only Linux can tie its life to ours: elsewhere a killed test
// leaves its world running.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownHost is no more than dieWithParent: only Linux can give a child a host name of its own, and a pair ends at once here.
func ownHost() *syscall.SysProcAttr { return dieWithParent() }

// inNamespaces is no more than dieWithParent.
func inNamespaces(uintptr) *syscall.SysProcAttr { return dieWithParent() }
