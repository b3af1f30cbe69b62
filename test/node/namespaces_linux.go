package node

import "syscall"

// ownNamespaces are what a node has of its own, as flags of clone(2).
const ownNamespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC
