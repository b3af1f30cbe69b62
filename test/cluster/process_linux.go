package cluster

import "syscall"

// dieWithParent puts a child into a group of its own and has the kernel kill it when this process ends, however it ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
