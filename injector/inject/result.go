package inject

// Flavour is what a pod was recognised as: the controller that runs in it.
type Flavour string

// Flavours. The zero Flavour is a pod of anything else.
const (
	Flux   Flavour = "kustomize-controller"
	ArgoCD Flavour = "argocd-application-controller"
)

// Skip is why a pod is left as it is. The zero Skip says that it is not. It is also a metric's label.
type Skip string

// Reasons to leave a pod as it is, in the order in which they are looked for.
const (
	// SkipNotRecognised: it is not a pod of a controller Holdfast knows.
	SkipNotRecognised Skip = "NotRecognised"
	// SkipMirrorPod: kubelet made it from a file, and the API server cannot change it.
	SkipMirrorPod Skip = "MirrorPod"
	// SkipEnding: it is being deleted, or has ended.
	SkipEnding Skip = "Ending"
	// SkipAlreadyInjected: the injector put a holder into it before.
	SkipAlreadyInjected Skip = "AlreadyInjected"
	// SkipNameTaken: somebody else gave it a container of the holder's name.
	SkipNameTaken Skip = "NameTaken"
	// SkipOptedOut: its annotation says so.
	SkipOptedOut Skip = "OptedOut"
	// SkipFlavourOff: the policy injects no holder beside this controller.
	SkipFlavourOff Skip = "FlavourOff"
	// SkipServiceAccount: it runs as a ServiceAccount the policy does not name.
	SkipServiceAccount Skip = "ServiceAccount"
	// SkipWindows: it is for nodes with Windows, and the holder is not.
	SkipWindows Skip = "Windows"
	// SkipPortTaken: another of its containers uses the holder's port.
	SkipPortTaken Skip = "PortTaken"
	// SkipNoCredentials: its controller has no token of its ServiceAccount, so a holder could not reach the API server.
	SkipNoCredentials Skip = "NoCredentials"
	// SkipFlagsUnreadable: the flags of its controller cannot be read, and a holder must know some of them.
	SkipFlagsUnreadable Skip = "FlagsUnreadable"
	// SkipMeshInTheWay: a proxy that starts after all init containers takes the traffic of those.
	SkipMeshInTheWay Skip = "MeshInTheWay"
	// SkipAnnotationsFull: the API server takes no more annotations than it has, so it could not be said that it has a holder.
	SkipAnnotationsFull Skip = "AnnotationsFull"
	// SkipNoRoom: a LimitRange or a ResourceQuota of its namespace would keep it from being made with a holder.
	SkipNoRoom Skip = "NoRoom"
)

// Missing says that a pod left alone for this reason should have a holder, and nobody chose that it has none.
func (s Skip) Missing() bool {
	switch s {
	case "", SkipServiceAccount, SkipWindows, SkipPortTaken, SkipNoCredentials, SkipFlagsUnreadable, SkipMeshInTheWay, SkipAnnotationsFull, SkipNoRoom:
		return true
	}
	return false
}

// Result is what became of one pod.
type Result struct {
	Flavour  Flavour     // "": not recognised
	Skip     Skip        // "": the patch adds a holder
	Why      string      // one sentence for a person: what was done, or why nothing was
	Patch    []Operation // nil when skipped
	Warnings []string    // sentences for whoever made the pod; also beside a Skip
}

// Operation is one step of a JSON patch (RFC 6902). All that Inject returns add something.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}
