package sim

import (
	"fmt"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
	"github.com/holdfast-gitops/holdfast/test/sim/flux"
)

// promises watches everything that happens and finds the first promise that is broken.
type promises struct {
	w       *World
	resumes []resume
	cover   map[*flux.Run]resume
	sent    map[string]map[*flux.Run]bool // by T1: the runs that were over when it was looked before that was sent
	base    map[string]string             // by T1: the newest baseline that was sent
	records map[string]int                // by T1: the step an operation was recorded in
	final   map[string]int                // by T1: the step its verdict was written in
	gone    map[string]bool               // by T1: its Kustomization was not there any more
	writers []named                       // who else wrote spec.suspend
	told    []named                       // Events and operations that name somebody who resumed
	pending []unnamed                     // runs that need such a name
	unnamed bool                          // the GitTarget was not there at some time

	// orphaned: nobody is there to hand back, because the trigger went without its holder, or because the suspend of a holder
	// that was killed arrived after the hand-back. The Kustomization stays suspended, and holdfast release hands it back.
	orphaned bool

	taken  string // the tokens of the newest operation that names somebody
	latest string // T1 of the trigger's newest operation
	broken error
}

// resume is a write that let a Kustomization apply.
type resume struct {
	rv      int64
	uid     types.UID
	step    int
	manager string
	op      string // T1 of the operation it was recorded for; empty: none
	held    bool   // it was held before, and nobody had reason to let it go
}

// named is a name, or a text with names, and when it came.
type named struct {
	step int
	text string
}

// unnamed is a run that somebody else's resume allowed.
type unnamed struct {
	run *flux.Run
	by  resume
}

func newPromises(w *World) *promises {
	return &promises{w: w, cover: map[*flux.Run]resume{}, sent: map[string]map[*flux.Run]bool{}, base: map[string]string{}, records: map[string]int{}, final: map[string]int{}, gone: map[string]bool{}}
}

// breaks notes the first promise that is broken.
func (p *promises) breaks(format string, args ...any) {
	if p.broken == nil {
		p.broken = fmt.Errorf(format, args...)
		p.w.told.add(p.w, "BROKEN: "+p.broken.Error())
	}
}

// changed is told of every change there is.
func (p *promises) changed(c apiserver.Change) {
	p.w.told.change(p.w, c)
	switch c.Kind.GVK.Kind {
	case kustomizev1.KustomizationKind:
		p.applierChanged(c)
	case "FluxTrigger":
		if c.New != nil {
			p.triggerChanged(apiserver.As[v1alpha1.FluxTrigger](c.New))
		} else if c.By.Manager != v1alpha1.HolderFieldManager {
			p.orphaned = true
		}
	case "GitTarget":
		p.unnamed = p.unnamed || c.New == nil
	case "Event":
		if c.New != nil {
			note, _ := c.New.Object["note"].(string)
			if reason, _ := c.New.Object["reason"].(string); reason == string(v1alpha1.ReasonResumedElsewhere) {
				p.told = append(p.told, named{p.w.steps, note})
			}
		}
	}
}

func (p *promises) applierChanged(c apiserver.Change) {
	if c.New == nil {
		return
	}
	was := c.Old != nil && apiserver.Suspended(c.Old)
	is := apiserver.Suspended(c.New)
	ours := c.By.Manager == v1alpha1.HolderFieldManager
	p.orphaned = p.orphaned || is && ours && p.w.arriving && (p.w.trigger() == nil || !p.referenced())
	if was != is && !ours {
		p.writers = append(p.writers, named{p.w.steps, c.By.Manager})
	}
	if is || c.Old != nil && !was {
		return
	}
	r := resume{rv: c.RV, uid: c.New.GetUID(), step: p.w.steps, manager: c.By.Manager}
	switch f := p.w.trigger(); {
	case ours:
		r.op = p.recorded(f, c.New)
	case c.Old != nil && f != nil && f.DeletionTimestamp.IsZero() && p.referenced():
		r.held = apimeta.IsStatusConditionTrue(f.Status.Conditions, string(v1alpha1.ConditionHeld)) &&
			c.Old.GetAnnotations()[v1alpha1.HeldByAnnotation] == "cluster/"+string(f.UID)
	}
	p.resumes = append(p.resumes, r)
}

// recorded returns T1 of the operation a resume of the holder belongs to. A resume that hands back belongs to none; any
// other must.
func (p *promises) recorded(f *v1alpha1.FluxTrigger, k *apiserver.Object) string {
	token := k.GetAnnotations()[meta.ReconcileRequestAnnotation]
	if k.GetAnnotations()[v1alpha1.HeldByAnnotation] == "" {
		going := k.GetDeletionTimestamp() != nil && !slices.Contains(k.GetFinalizers(), kustomizev1.KustomizationFinalizer)
		if !going && f != nil && f.DeletionTimestamp.IsZero() && !p.unnamed {
			p.breaks("the Kustomization was handed back although its trigger still holds it")
		}
		return ""
	}
	if f == nil || f.Status.Operation == nil || f.Status.Operation.Token != token || f.Status.Operation.Phase.Final() {
		p.breaks("nothing is applied outside a recorded operation: the holder resumed with token %q, and no operation in flight has it", token)
		return ""
	}
	return token
}

// over returns the runs that have ended.
func (p *promises) over() map[*flux.Run]bool {
	over := map[*flux.Run]bool{}
	for _, r := range p.w.Truth.Runs {
		if r.Ended {
			over[r] = true
		}
	}
	return over
}

// sends is told of each write of a holder before it is sent, and of the runs that were over when that holder last looked at
// the Kustomization: against what it saw then it records.
func (p *promises) sends(w apiserver.Write, over map[*flux.Run]bool) {
	token, _, _ := unstructured.NestedString(w.Body, "status", "operation", "token")
	before, _, _ := unstructured.NestedMap(w.Body, "status", "operation", "before")
	if base, known := fmt.Sprint(before), p.sent[token] != nil; !known || p.base[token] != base {
		p.base[token], p.sent[token] = base, over
	}
}

// referenced says that a GitTarget names the trigger.
func (p *promises) referenced() bool {
	return p.w.object(v1alpha1.GroupVersion.WithKind("GitTarget"), types.NamespacedName{Namespace: app.Namespace, Name: "web"}) != nil
}

func (p *promises) triggerChanged(f *v1alpha1.FluxTrigger) {
	op := f.Status.Operation
	if p.latest != "" && (op == nil || op.Token != p.latest) {
		if _, known := p.final[p.latest]; !known {
			p.final[p.latest] = p.w.steps // withdrawn
		}
	}
	if op == nil {
		return
	}
	p.latest = op.Token
	if _, known := p.records[op.Token]; !known {
		p.records[op.Token] = p.w.steps
	}
	if sent := op.Token + op.SuspendToken; op.By != "" && sent != p.taken {
		p.taken, p.told = sent, append(p.told, named{p.w.steps, op.By})
	}
	if _, known := p.final[op.Token]; known || !op.Phase.Final() {
		return
	}
	p.final[op.Token] = p.w.steps
	// When the Kustomization is gone, or goes and takes no finalizer any more, nobody can stop the run or wait for it.
	k := p.w.applier()
	p.gone[op.Token] = k == nil || string(k.UID) != op.ApplierUID ||
		!k.DeletionTimestamp.IsZero() && !slices.Contains(k.Finalizers, v1alpha1.HoldFinalizer)
	p.verdict(f, op)
}

// verdict holds what an operation came to against the truth.
func (p *promises) verdict(f *v1alpha1.FluxTrigger, op *v1alpha1.Operation) {
	done := false
	for _, r := range p.w.Truth.Runs {
		if p.cover[r].op == op.Token && !r.Ended && !r.Killed && !p.gone[op.Token] {
			p.breaks("an operation ends when its run has: operation %s is %s while run %d of it goes on", op.Token, op.Phase, r.Number)
		}
		// Somebody else may have resumed it before the operation did; applied is applied. What ended before the record is not.
		since := op.Origin == v1alpha1.OriginExternal || !p.sent[op.Token][r]
		done = done || since && r.Full && r.Revision == op.AppliedRevision
	}
	if op.Phase == v1alpha1.OperationSucceeded && !done && op.Origin != v1alpha1.OriginDeletion {
		p.breaks("Succeeded means applied: operation %s of %s/%s says %q, and no run since its record applied %q in full",
			op.Token, f.Namespace, f.Name, op.Message, op.AppliedRevision)
	}
}

// runBegins is told of each run before its first write to a workload.
func (p *promises) runBegins(r *flux.Run) {
	var by *resume
	for i := range p.resumes {
		if c := &p.resumes[i]; c.uid == r.UID && c.rv <= r.SeenRV {
			by = c
		}
	}
	p.w.told.add(p.w, fmt.Sprintf("TRUTH: run %d applies %s, resumed by %+v", r.Number, short(r.Revision), by))
	if by == nil {
		p.breaks("run %d applies something nobody resumed", r.Number)
		return
	}
	p.cover[r] = *by
	if _, over := p.final[by.op]; over && by.op != "" && !p.gone[by.op] {
		p.breaks("an operation ends when its run has: run %d of operation %s begins after the verdict", r.Number, by.op)
	}
	if by.held {
		p.pending = append(p.pending, unnamed{r, *by})
	}
}

// passBegins returns T1 of the operation whose run the holder can see started, as its cache has it.
func (p *promises) passBegins(h *holder) string {
	o, err := h.cache.Get(p.w.kind(kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind)), app)
	if err != nil || !h.State().Leads {
		return ""
	}
	return running(apiserver.As[kustomizev1.Kustomization](o))
}

// running returns the token of a Kustomization that is resumed and says that a run goes on; empty otherwise.
func running(k *kustomizev1.Kustomization) string {
	c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReconcilingCondition)
	if k.Spec.Suspend || !k.DeletionTimestamp.IsZero() || c == nil || c.Status != metav1.ConditionTrue || c.Reason != meta.ProgressingReason || c.ObservedGeneration != k.Generation {
		return ""
	}
	return k.Annotations[meta.ReconcileRequestAnnotation]
}

// passEnds checks that a pass that saw a start, and that nothing hindered, has suspended what it had resumed: while a run
// goes on nothing may start another one. The run must still go on at the end of the pass, so that it did whenever the pass
// looked.
func (p *promises) passEnds(h *holder, token string, err error) {
	f, k := p.w.trigger(), p.w.applier()
	if token == "" || err != nil || f == nil || k == nil || f.Status.Operation == nil || p.frozen() || p.w.gate || !h.State().Leads {
		return
	}
	op := f.Status.Operation
	if op.Token == token && !op.Phase.Final() && running(k) == token {
		p.breaks("a started run is the only one: the holder saw operation %s start and left the Kustomization resumed", token)
	}
}

func (p *promises) frozen() bool {
	o := p.w.object(sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind), repo)
	return o != nil && apiserver.Suspended(o)
}

func revisionOf(o *apiserver.Object) string {
	g := apiserver.As[sourcev1.GitRepository](o)
	if g.Status.Artifact == nil {
		return ""
	}
	return g.Status.Artifact.Revision
}
