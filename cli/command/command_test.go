package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
)

func TestWhatIsTypedWronglyIsSaid(t *testing.T) {
	for args, want := range map[string]string{
		"release":                          "say --all",
		"release a/b --all":                "exclude each other",
		"release app":                      `"app" is not NAMESPACE/NAME`,
		"release a/b/c":                    `"a/b/c" is not NAMESPACE/NAME`,
		"release a/b --timeout=0s":         "--timeout",
		"release a/b --tiemout=1s":         "unknown flag",
		"relaese a/b":                      "unknown command",
		"release a/b --timeout=soon":       "invalid argument",
		"release --all --within=-1s":       "--within",
		"release /b":                       `"/b" is not`,
		"release --all a/b --dry-run":      "exclude each other",
		"release a/b c --kubeconfig=/none": `"c" is not`,
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), strings.Fields(args), nil, &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("holdfast %s: exit code %d, %q, %q; want %q", args, code, out.String(), errs.String(), want)
		}
	}
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{"release", "a/b", "--kubeconfig=/none"}, nil, &out, &errs); code != exitNot || !strings.Contains(errs.String(), "--kubeconfig") {
		t.Errorf("without a cluster: exit code %d, %q", code, errs.String())
	}
	if code := Run(t.Context(), nil, nil, &out, &errs); code != exitDone || !strings.Contains(out.String(), "release") {
		t.Errorf("alone: exit code %d, %q", code, out.String())
	}
}

// fields is what a manager that applies a hold owns.
func fields(manager, owned string) []metav1.ManagedFieldsEntry {
	f := &metav1.FieldsV1{}
	f.SetRawString(owned)
	return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: f}}
}

// kustomization is held by what by says.
func kustomization(name, by string) *kustomizev1.Kustomization {
	return &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "flux-system", Name: name, UID: "k", Annotations: map[string]string{v1alpha1.HeldByAnnotation: by},
			ManagedFields: fields("holdfast", `{"f:metadata":{"f:annotations":{"f:holdfast.dev/held-by":{}}},"f:spec":{"f:suspend":{}}}`),
		},
		Spec: kustomizev1.KustomizationSpec{Suspend: true},
	}
}

// frozen is a GitRepository that manager suspended.
func frozen(name, manager string) *sourcev1.GitRepository {
	return &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: name, UID: "g", ManagedFields: fields(manager, `{"f:spec":{"f:suspend":{}}}`)},
		Spec:       sourcev1.GitRepositorySpec{Suspend: true},
	}
}

func trigger(name, uid, holds string) *v1alpha1.FluxTrigger {
	return &v1alpha1.FluxTrigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(uid)},
		Spec:       v1alpha1.FluxTriggerSpec{KustomizationRef: v1alpha1.NamespacedReference{Namespace: "flux-system", Name: holds}},
	}
}

// reaching is a releaser of a cluster with these objects, seen through funcs.
func reaching(t *testing.T, funcs interceptor.Funcs, objs ...client.Object) *releaser {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, kustomizev1.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).WithInterceptorFuncs(funcs).WithReturnManagedFields().Build()
	return &releaser{client: c, applier: refusing{}, timeout: time.Minute, now: time.Now}
}

// refusing is an applier that somebody else is always faster than.
type refusing struct{ applier.Applier }

func (refusing) Release(context.Context, applier.Target) error { return applier.ErrMoved }

var kubeSystem = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "here"}}

func TestAllFindsEveryTriggerAndWhatTriggersThatAreGoneLeftBehind(t *testing.T) {
	bare := kustomization("bare", "")
	bare.Annotations, bare.ManagedFields, bare.Finalizers = nil, nil, []string{v1alpha1.HoldFinalizer}
	forged := kustomization("forged", "here/gone")
	forged.ManagedFields[0].Manager = "somebody"
	r := reaching(t, interceptor.Funcs{}, kubeSystem, trigger("app", "t1", "app"),
		kustomization("app", "here/t1"), kustomization("left", "here/gone"), kustomization("far", "there/t9"), bare, forged, frozen("theirs", "somebody"), frozen("app", "holdfast"),
		&kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "free"}, Spec: kustomizev1.KustomizationSpec{Suspend: true}})
	work, err := r.everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = r.preview(&out, work)
	want := `FluxTrigger team-a/app: would be deleted, and Kustomization flux-system/app handed back
Kustomization flux-system/bare: would be handed back; its trigger is gone
Kustomization flux-system/far: cannot be handed back: it is held from another cluster, whose kube-system has uid there; run this there
Kustomization flux-system/left: would be handed back; its trigger is gone
GitRepository flux-system/app: would be handed back; its trigger is gone
`
	if out.String() != want || err == nil || !strings.Contains(err.Error(), "1 of 5") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestAllWorksWithoutTheKindsOfHoldfast(t *testing.T) {
	r := reaching(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
		if _, ok := l.(*v1alpha1.FluxTriggerList); ok {
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "holdfast.dev", Kind: "FluxTrigger"}}
		}
		return c.List(ctx, l, opts...)
	}}, kubeSystem, kustomization("left", "here/gone"))
	if work, err := r.everything(t.Context()); err != nil || len(work) != 1 || work[0].String() != "Kustomization flux-system/left" {
		t.Errorf("%v, %v", work, err)
	}
}

func TestOneThatCannotBeHandedBackKeepsNoOther(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "holdfast.dev", Resource: "fluxtriggers"}, "secret", nil)
	r := reaching(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if key.Name == "denied" {
			return forbidden
		}
		return c.Get(ctx, key, o, opts...)
	}}, trigger("app", "t1", "app"), &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "app"}})
	work, err := r.named(t.Context(), []string{"team-a/none", "team-a/denied", "team-a/app"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = r.handBackAll(t.Context(), &out, work)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		"FluxTrigger team-a/none: not handed back: there is none of that name",
		"FluxTrigger team-a/denied: not handed back: you may not get fluxtriggers.holdfast.dev in namespace team-a",
		"FluxTrigger team-a/app: deleted; it did not hold Kustomization flux-system/app",
	} {
		if len(lines) != 3 || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d of\n%s\nwant %q", i, out.String(), want)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "2 of 3") {
		t.Errorf("in sum: %v", err)
	}
}

func TestAnInterruptionEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := reaching(t, interceptor.Funcs{}, kustomization("left", "here/gone"))
	_, err := r.handBack(ctx, held{kustomization: client.ObjectKey{Namespace: "flux-system", Name: "left"}, triggerUID: "gone"})
	if err == nil || !strings.Contains(err.Error(), "run this again") {
		t.Errorf("it ends with %v", err)
	}
}

// thawing is an applier that lets a source go so thoroughly that nothing of it is left.
type thawing struct {
	applier.Applier
	client client.Client
}

func (a thawing) Thaw(ctx context.Context, source applier.Target) error {
	return a.client.Delete(ctx, &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name, UID: source.UID}})
}

func TestASourceThatIsFrozenIsLetGo(t *testing.T) {
	r := reaching(t, interceptor.Funcs{}, frozen("app", "holdfast"))
	r.applier = thawing{client: r.client}
	work, err := r.frozen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.handBackAll(t.Context(), &out, work); err != nil || !strings.HasSuffix(out.String(), "is no longer kept from fetching\n") {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestNothingHeldIsSaid(t *testing.T) {
	r := reaching(t, interceptor.Funcs{}, kubeSystem)
	work, err := r.everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.handBackAll(t.Context(), &out, work); err != nil || out.String() != "nothing is held\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestOnlyAYesIsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Y\n": true, "n\n": false, "\n": false, "": false, "yy\n": false} {
		if got := yes(answer); got != want {
			t.Errorf("%q is taken for %t", answer, got)
		}
	}
}

func TestWithoutATerminalNobodySaidYes(t *testing.T) {
	piped, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer piped.Close()
	if _, err := piped.WriteAt([]byte("y\n"), 0); err != nil {
		t.Fatal(err)
	}
	for says, in := range map[string]io.Reader{"a file": piped, "a pipe": strings.NewReader("y\n")} {
		var out bytes.Buffer
		if err := confirmed(in, &out, 7); err == nil || !strings.Contains(err.Error(), "say --yes") || out.Len() > 0 {
			t.Errorf("%s: %v, %q", says, err, out.String())
		}
	}
}
