package manifest

import "fmt"

// Identity names one Kubernetes object. Documents are matched by everything but Version, since one object can be
// written in several versions of its group.
type Identity struct {
	Group     string // empty: the core group
	Version   string
	Kind      string
	Namespace string // empty: cluster-scoped, or left to the applier in a document
	Name      string
}

// String returns the identity as people read it, without its version: "apps/Deployment team-a/web".
func (id Identity) String() string {
	kind, name := id.Kind, id.Name
	if id.Group != "" {
		kind = id.Group + "/" + kind
	}
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return fmt.Sprintf("%s %s", kind, name)
}

// unversioned returns id without its version, the key documents are matched by.
func (id Identity) unversioned() Identity {
	id.Version = ""
	return id
}
