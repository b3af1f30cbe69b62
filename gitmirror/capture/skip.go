package capture

// Skip says why a change is no edit to record; empty: it is one. It serves as log value and metric label.
type Skip string

const (
	// Derived: made by a controller from something else, such as a ReplicaSet's Pod, an EndpointSlice or a Lease.
	Derived Skip = "Derived"

	// SecretNotMirrored: Secrets are not written to Git.
	SecretNotMirrored Skip = "SecretNotMirrored"

	// BeingDeleted: the object waits for its finalizers; what is written to it now outlives nothing.
	BeingDeleted Skip = "BeingDeleted"

	// Unchanged: nothing that belongs into Git changed, such as a status.
	Unchanged Skip = "Unchanged"

	// PlacedByApplier: the object is new to the watch and carries the applier's label, and nobody was seen to make it, so it
	// came from Git.
	PlacedByApplier Skip = "PlacedByApplier"

	// WrittenByApplier: the applier alone wrote it.
	WrittenByApplier Skip = "WrittenByApplier"
)
