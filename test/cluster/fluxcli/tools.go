//go:build tools

// Package fluxcli pins Flux's command line. It is built from a copy of its module: what it was published with lacks the
// manifests its release embeds, for which the world puts a placeholder.
package fluxcli

import _ "github.com/fluxcd/flux2/v2/cmd/flux"
