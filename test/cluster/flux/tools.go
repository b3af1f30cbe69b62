//go:build tools

// Package flux pins Flux's source- and kustomize-controller; their mains are built by path from this module.
package flux

import (
	_ "github.com/fluxcd/kustomize-controller"
	_ "github.com/fluxcd/source-controller"
)
