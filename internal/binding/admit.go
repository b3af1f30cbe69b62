package binding

import (
	"path"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Admits says whether the GitTargets and triggers of a namespace may use the cluster of p: always without spec.accessFrom,
// else when one of its selectors fits labels, the namespace's own. A namespace whose labels are not known has none, but for
// its name, which the API server puts on every namespace as a label. A nil p admits nobody.
func Admits(p *v1alpha1.KubeProvider, namespace string, labels map[string]string) bool {
	if p == nil {
		return false
	}
	if p.Spec.AccessFrom == nil {
		return true
	}
	for _, s := range p.Spec.AccessFrom.NamespaceSelectors {
		if fitsAll(s.MatchLabels, namespace, labels) {
			return true
		}
	}
	return false
}

// nameLabel is the label that holds a namespace's name; nobody can change it.
const nameLabel = "kubernetes.io/metadata.name"

// fitsAll says whether a namespace has each of the labels wanted.
func fitsAll(wanted map[string]string, namespace string, labels map[string]string) bool {
	for key, value := range wanted {
		has, ok := labels[key]
		if key == nameLabel {
			has, ok = namespace, true
		}
		if !ok || has != value {
			return false
		}
	}
	return true
}

// AllowsBranch says whether one of the globs in p's spec.allowedBranches admits branch. One that does not parse admits
// nothing, and none is what no GitProvider read from a cluster has: there the default is main.
func AllowsBranch(p *v1alpha1.GitProvider, branch string) bool {
	globs := p.Spec.AllowedBranches
	if len(globs) == 0 {
		globs = []string{"main"}
	}
	for _, g := range globs {
		if ok, err := path.Match(g, branch); err == nil && ok {
			return true
		}
	}
	return false
}
