package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
)

// SpecDigest tells one spec of a Kustomization from another. spec.suspend does not count, because the hold is not what is
// applied. The generation cannot serve: every suspend moves it; nor can observedGeneration, which moves while suspended.
func SpecDigest(k *kustomizev1.Kustomization) string {
	spec := k.Spec.DeepCopy()
	spec.Suspend = false
	text, err := json.Marshal(spec)
	if err != nil { // no value of the type does
		return ""
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// specUnknown is in place of the digest where the spec was changed in the middle of an operation. It is that of no spec.
const specUnknown = "changed"

// specApplied says that the newest operation applied the spec there is now. It is also true of a Kustomization that no
// operation has applied yet, about which nothing is known.
func (s Seen) specApplied(r report) bool {
	last := r.lastFinished()
	if r.operation != nil && !r.operation.Phase.Final() {
		return true // it applies what there is
	}
	if s.Kustomization == nil || last == nil || last.SpecDigest == "" || last.ApplierUID != string(s.Kustomization.UID) {
		return true
	}
	return last.SpecDigest == SpecDigest(s.Kustomization)
}
