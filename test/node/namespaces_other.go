//go:build !linux

package node

import "errors"

// ownNamespaces are none where Missing says that there can be no node.
const ownNamespaces = 0

func tryNamespaces() error { return errors.New("this is not Linux") }
