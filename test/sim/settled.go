package sim

import (
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// settled checks what can only be seen once nothing moves any more.
func (p *promises) settled() {
	f, k := p.w.trigger(), p.w.applier()
	switch {
	case f != nil && !f.DeletionTimestamp.IsZero():
		p.breaks("handing back ends: the trigger is still being deleted")
	case p.orphaned:
		return
	case k != nil && !k.DeletionTimestamp.IsZero():
		p.breaks("handing back ends: the Kustomization is still being deleted")
	case f == nil || !p.referenced():
		p.handedBack()
		return
	}
	if f == nil || k == nil {
		return
	}
	op := f.Status.Operation
	if op != nil && !op.Phase.Final() {
		p.breaks("nothing stays resumed and unwatched: operation %s stays %s", op.Token, op.Phase)
	}
	if p.w.object(v1alpha1.GroupVersion.WithKind("KubeProvider"), provider) == nil {
		return
	}
	if !k.Spec.Suspend {
		p.breaks("what is resumed is suspended again: the Kustomization is left resumed")
	}
	held := apimeta.FindStatusCondition(f.Status.Conditions, string(v1alpha1.ConditionHeld))
	if held == nil || held.Status != metav1.ConditionTrue {
		p.breaks("what is suspended is held: Held is %+v", held)
	}
	if r, h := f.Status.Request, f.Status.LastHandledRequest; r != nil && (h == nil || h.ID != r.ID) {
		p.breaks("every request is answered: %s is not", r.ID)
	}
	for _, u := range p.pending {
		if !p.isNamed(u.by) {
			p.breaks("nothing is applied outside a recorded operation but by somebody named: run %d was resumed by %s in step %d, and no Event says so",
				u.run.Number, u.by.manager, u.by.step)
		}
	}
}

// handedBack checks that nothing of the hold is left on the Kustomization.
func (p *promises) handedBack() {
	k := p.w.applier()
	if k == nil || !k.DeletionTimestamp.IsZero() {
		return
	}
	if by := k.Annotations[v1alpha1.HeldByAnnotation]; by != "" {
		p.breaks("handing back ends: the Kustomization still says it is held by %s", by)
	}
	for _, m := range k.ManagedFields {
		if m.Manager == v1alpha1.HolderFieldManager && m.Operation == metav1.ManagedFieldsOperationApply {
			p.breaks("handing back ends: the holder still owns %s of the Kustomization", m.FieldsV1.GetRawString())
		}
	}
	if k.Spec.Suspend && len(p.writers) == 0 {
		p.breaks("handing back ends: the Kustomization is still suspended, and nobody but the holder did that")
	}
}

// isNamed says that since the resume somebody was told who wrote spec.suspend then, or that it was removed.
func (p *promises) isNamed(by resume) bool {
	for _, t := range p.told {
		if t.step < by.step {
			continue
		}
		for _, w := range p.writers {
			if w.step >= by.step && strings.Contains(t.text, w.text) {
				return true
			}
		}
		if strings.Contains(t.text, "somebody") {
			return true
		}
	}
	return false
}
