package v1alpha1

// Names that other programs and people see on objects.
const (
	// HoldFinalizer keeps a trigger until its applier is handed back.
	HoldFinalizer = "holdfast.dev/hold"

	// HeldByAnnotation on a Kustomization names who holds it: `<cluster UID>/<trigger UID>`.
	HeldByAnnotation = "holdfast.dev/held-by"

	// HolderFieldManager owns what the holder applies. Flux strips managers whose name begins with kubectl,
	// before-first-apply or kustomize-controller, so it begins with none of them.
	HolderFieldManager = "holdfast"

	// MirrorFieldManager owns what gitmirror applies.
	MirrorFieldManager = "holdfast-gitmirror"

	// DefaultKubeProvider is the KubeProvider a reference without a name means.
	DefaultKubeProvider = "default"
)
