// Package facts says what Holdfast takes for granted about the API server, kustomize-controller and source-controller, as a
// table of facts that can be looked up: how to arrange it, what to do, what must follow.
//
// The same table is looked up in two worlds. The suite in this package asks a real API server and the real controllers; the
// tests of package sim ask the simulated ones. A fact that holds in one of them only is a lie the simulator tells, or a
// change in Flux that Holdfast has to follow; either way everything proven with the simulator is in doubt until it is mended.
package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Content is what a commit brings.
type Content int

// The commits there are.
const (
	Quick      Content = iota // is applied in no time
	Slow                      // takes long enough for something to happen meanwhile
	Broken                    // is refused when it is applied
	NeverReady                // is applied, and does not become ready
)

// World is where a fact is looked up: one Kustomization and one GitRepository of the same name, resumed, with the first
// commit applied. Each fact has a world of its own.
type World interface {
	// Client is an administrator's; it reads what the API server has now.
	Client() client.Client

	// Key names the Kustomization and the GitRepository.
	Key() types.NamespacedName

	// Push commits, has it fetched, and returns once the GitRepository has it and kustomize-controller's cache has that.
	Push(ctx context.Context, c Content) (Pushed, error)

	// Placed returns the marker of the commit whose objects the cluster has; empty when it has none.
	Placed(ctx context.Context) (string, error)

	// Await looks again until done says true, for a bounded time. done also says what it saw.
	Await(ctx context.Context, what string, done func(context.Context) (bool, string, error)) error

	// KillController is kill -9 of kustomize-controller, and ReviveController its next start.
	KillController(ctx context.Context) error
	ReviveController(ctx context.Context) error
}

// Pushed is a commit that was fetched.
type Pushed struct {
	Revision string // as Flux names it
	Marker   string // in the objects it brings
}

// Fact is one thing that is taken for granted.
type Fact struct {
	Name  string
	Check func(ctx context.Context, l Look) error // nil: it is so
}

// All are the facts, of the API server first.
func All() []Fact { return slices.Concat(ofTheServer, ofRuns, ofDeletion) }

// Look is a world with what most facts do in it.
type Look struct{ World }

// Kustomization reads the Kustomization.
func (l Look) Kustomization(ctx context.Context) (*kustomizev1.Kustomization, error) {
	k := &kustomizev1.Kustomization{}
	return k, l.Client().Get(ctx, l.Key(), k)
}

// Source reads the GitRepository.
func (l Look) Source(ctx context.Context) (*sourcev1.GitRepository, error) {
	g := &sourcev1.GitRepository{}
	return g, l.Client().Get(ctx, l.Key(), g)
}

// Patch merges patch into the Kustomization as the field manager.
func (l Look) Patch(ctx context.Context, manager, patch string) error {
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: l.Key().Namespace, Name: l.Key().Name}}
	return l.Client().Patch(ctx, k, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager))
}

// Apply applies fields to the Kustomization by server-side apply, by force, as the field manager. What fields says of
// metadata is joined with the name.
func (l Look) Apply(ctx context.Context, manager, fields string) error {
	var body map[string]any
	if err := json.Unmarshal([]byte(fields), &body); err != nil {
		return err
	}
	return l.apply(ctx, l.Key().Name, manager, body)
}

// Suspend sets spec.suspend and a token in one write, which is how the holder resumes and suspends.
func (l Look) Suspend(ctx context.Context, suspend bool, token string) error {
	return l.Patch(ctx, "fact", fmt.Sprintf(`{"spec":{"suspend":%v},"metadata":{"annotations":{%q:%q}}}`, suspend, meta.ReconcileRequestAnnotation, token))
}

// Stamp sets a token and nothing else.
func (l Look) Stamp(ctx context.Context, token string) error {
	return l.Patch(ctx, "fact", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.ReconcileRequestAnnotation, token))
}

// AwaitKustomization waits until the Kustomization is as is says.
func (l Look) AwaitKustomization(ctx context.Context, what string, is func(*kustomizev1.Kustomization) bool) (*kustomizev1.Kustomization, error) {
	var k *kustomizev1.Kustomization
	err := l.Await(ctx, what, func(ctx context.Context) (bool, string, error) {
		var err error
		if k, err = l.Kustomization(ctx); err != nil {
			return false, "", err
		}
		return is(k), say(k), nil
	})
	return k, err
}

// AwaitHandled waits until the token is the one recorded.
func (l Look) AwaitHandled(ctx context.Context, token string) (*kustomizev1.Kustomization, error) {
	return l.AwaitKustomization(ctx, "token "+token+" is handled", func(k *kustomizev1.Kustomization) bool {
		return k.Status.LastHandledReconcileAt == token
	})
}

// Rest suspends the Kustomization and waits until nothing runs any more.
func (l Look) Rest(ctx context.Context, token string) (*kustomizev1.Kustomization, error) {
	if err := l.Suspend(ctx, true, token); err != nil {
		return nil, err
	}
	return l.AwaitHandled(ctx, token)
}

// AwaitStart waits until a run says that it has begun on the spec there is now.
func (l Look) AwaitStart(ctx context.Context) (*kustomizev1.Kustomization, error) {
	return l.AwaitKustomization(ctx, "a run begins", func(k *kustomizev1.Kustomization) bool {
		c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReconcilingCondition)
		return c != nil && c.Reason == meta.ProgressingReason && c.ObservedGeneration == k.Generation
	})
}

// say puts a Kustomization into one line.
func say(k *kustomizev1.Kustomization) string {
	s := fmt.Sprintf("suspend %v, generation %d observed %d, handled %q, attempted %s, applied %s, finalizers %v", k.Spec.Suspend, k.Generation,
		k.Status.ObservedGeneration, k.Status.LastHandledReconcileAt, k.Status.LastAttemptedRevision, k.Status.LastAppliedRevision, k.Finalizers)
	for _, c := range k.Status.Conditions {
		s += fmt.Sprintf(", %s=%s %s at %d", c.Type, c.Status, c.Reason, c.ObservedGeneration)
	}
	if len(k.Status.History) > 0 {
		h := k.Status.History[0]
		s += fmt.Sprintf(", history %s %d", h.LastReconciledStatus, h.TotalReconciliations)
	}
	return s
}

// want returns an error that says what was wanted unless it is so.
func want(so bool, k *kustomizev1.Kustomization, what string) error {
	if so {
		return nil
	}
	return fmt.Errorf("not so: %s; there is: %s", what, say(k))
}

// total returns how often the newest entry of the history was reconciled; 0 when there is none.
func total(k *kustomizev1.Kustomization) int64 {
	if len(k.Status.History) == 0 {
		return 0
	}
	return k.Status.History[0].TotalReconciliations
}

func newest(k *kustomizev1.Kustomization) string {
	if len(k.Status.History) == 0 {
		return ""
	}
	return k.Status.History[0].LastReconciledStatus
}

func ready(k *kustomizev1.Kustomization) string {
	c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}
