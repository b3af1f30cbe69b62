//go:build !linux

package node

// ownNamespaces are none where Missing says that there can be no node.
const ownNamespaces = 0
