package v1alpha1

// Names that other programs and people see on objects.
const (
	// HoldFinalizer keeps a trigger until its applier is handed back, and a held Kustomization until its deletion is one
	// that somebody decided on.
	HoldFinalizer = "holdfast.dev/hold"

	// HeldByAnnotation on a Kustomization names who holds it: `<cluster UID>/<trigger UID>`.
	HeldByAnnotation = "holdfast.dev/held-by"

	// ResumedByAnnotation on a Kustomization names who resumed it, when the newest write of the holder is the suspend that took
	// that back.
	ResumedByAnnotation = "holdfast.dev/resumed-by"

	// RequestedAtAnnotation on a trigger asks for an apply of what the branch holds, whenever its value changes.
	RequestedAtAnnotation = "holdfast.dev/requestedAt"

	// HolderLabel is on the Lease of every running holder, with the value "true".
	HolderLabel = "holdfast.dev/holder"

	// InjectLabel on a namespace, with the value InjectEnabled, has the injector put a holder into the pods of
	// kustomize-controller and argocd-application-controller that are made there. The same key as an annotation on a pod,
	// with the value InjectDisabled, leaves that pod alone.
	InjectLabel    = "holdfast.dev/inject"
	InjectEnabled  = "enabled"
	InjectDisabled = "disabled"

	// InjectedAnnotation on a pod says what the injector took it for: a Flavour of package inject, by name.
	InjectedAnnotation = "holdfast.dev/injected"

	// The following annotations on a pod overrule what the injector was told about the holder's container: its image, and
	// quantities as in a pod's resources.
	HolderImageAnnotation         = "holdfast.dev/holder-image"
	HolderCPURequestAnnotation    = "holdfast.dev/holder-cpu-request"
	HolderCPULimitAnnotation      = "holdfast.dev/holder-cpu-limit"
	HolderMemoryRequestAnnotation = "holdfast.dev/holder-memory-request"
	HolderMemoryLimitAnnotation   = "holdfast.dev/holder-memory-limit"

	// HolderContainer is the name of the holder's container in a pod.
	HolderContainer = "holdfast-holder"

	// HolderPort is where a holder serves its status page, metrics and probes.
	HolderPort = 9797

	// HolderFieldManager owns what the holder applies. Flux strips managers whose name begins with kubectl,
	// before-first-apply or kustomize-controller, so it begins with none of them.
	HolderFieldManager = "holdfast"

	// MirrorFieldManager owns what gitmirror applies.
	MirrorFieldManager = "holdfast-gitmirror"

	// DefaultKubeProvider is the KubeProvider a reference without a name means.
	DefaultKubeProvider = "default"
)
