//go:build tools

package chart

import _ "helm.sh/helm/v4/cmd/helm" // built by path from this module, and run by the stories
