package v1alpha1

// Names that other programs and people see on objects.
const (
	// HoldFinalizer keeps a trigger until its applier is handed back, and a held Kustomization until its deletion is one
	// that somebody decided on.
	HoldFinalizer = "holdfast.dev/hold"

	// HeldByAnnotation on a Kustomization names who holds it: `<cluster UID>/<trigger UID>`.
	HeldByAnnotation = "holdfast.dev/held-by"

	// RequestedAtAnnotation on a trigger asks for an apply of what the branch holds, whenever its value changes.
	RequestedAtAnnotation = "holdfast.dev/requestedAt"

	// HolderLabel is on the Lease of every running holder, with the value "true".
	HolderLabel = "holdfast.dev/holder"

	// HolderFieldManager owns what the holder applies. Flux strips managers whose name begins with kubectl,
	// before-first-apply or kustomize-controller, so it begins with none of them.
	HolderFieldManager = "holdfast"

	// MirrorFieldManager owns what gitmirror applies.
	MirrorFieldManager = "holdfast-gitmirror"

	// DefaultKubeProvider is the KubeProvider a reference without a name means.
	DefaultKubeProvider = "default"
)
