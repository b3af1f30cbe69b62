package webhook

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

func noLimits(context.Context, string) (inject.Room, error) { return inject.Room{}, nil }

// limit is a LimitRange with one item for each container.
func limit(namespace string, item corev1.LimitRangeItem) *corev1.LimitRange {
	item.Type = corev1.LimitTypeContainer
	return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "l"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}
}

func cpu(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
}

// B7
func TestTheHolderFitsIntoWhatTheNamespaceAllows(t *testing.T) {
	atLeast := func(q string) inject.Room {
		return inject.Room{Ranges: []corev1.LimitRange{*limit("flux-system", corev1.LimitRangeItem{Min: cpu(q)})}}
	}
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
	tight := inject.Room{Ranges: []corev1.LimitRange{*limit("flux-system", corev1.LimitRangeItem{Max: memory})}}
	for _, row := range []struct {
		name    string
		room    inject.Room
		err     error
		request string // of cpu, in the patch; "": there is none
		warned  bool
		count   string
	}{
		{"without limits it has what the policy says", inject.Room{}, nil, `"cpu":"10m"`, false, "kustomize-controller Injected 1"},
		{"within them too", atLeast("10m"), nil, `"cpu":"10m"`, false, "kustomize-controller Injected 1"},
		{"beyond them it has what is allowed, and a person is told", atLeast("50m"), nil, `"cpu":"50m"`, true, "kustomize-controller Injected 1"},
		{"where nothing is the pod comes without", tight, nil, "", false, "kustomize-controller NoRoom 1"},
		{"limits that cannot be read are none", atLeast("50m"), errors.New("no answer"), `"cpu":"10m"`, false, "kustomize-controller Injected 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, policyOfTests)
			var asked []string
			b.room = func(_ context.Context, namespace string) (inject.Room, error) {
				asked = append(asked, namespace)
				return row.room, row.err
			}
			got := b.ask(t, request(fluxPod))
			if !got.Allowed || !strings.Contains(string(got.Patch), row.request) || (row.request == "") != (got.Patch == nil) {
				t.Errorf("answered %+v: %s", got, got.Patch)
			}
			if warned := len(got.Warnings) > 0; warned != row.warned {
				t.Errorf("warnings %q", got.Warnings)
			}
			if diff := cmp.Diff([]string{row.count}, b.counts(t)); diff != "" {
				t.Errorf("counts, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff([]string{"flux-system"}, asked); diff != "" {
				t.Errorf("asked of, -want +got:\n%s", diff)
			}
			if row.err != nil && !strings.Contains(b.logged.String(), "no answer") {
				t.Errorf("the log does not say why: %s", b.logged.String())
			}
		})
	}
}

func TestOnlyForAPodThatIsToHaveAHolderAreLimitsRead(t *testing.T) {
	b := newBench(t, policyOfTests)
	b.room = func(context.Context, string) (inject.Room, error) {
		t.Error("they were read")
		return inject.Room{}, nil
	}
	b.ask(t, request(otherPod))
	optedOut := strings.Replace(fluxPod, `"labels"`, `"annotations":{"holdfast.dev/inject":"disabled"},"labels"`, 1)
	if got := b.ask(t, request(optedOut)); got.AuditAnnotations["holder"] != "OptedOut" {
		t.Errorf("answered %+v", got)
	}
}

func TestRoomIsThatOfOneNamespace(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	quota := func(namespace string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "q"}}
	}
	var fail string
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		limit("flux-system", corev1.LimitRangeItem{Min: cpu("1")}), limit("other", corev1.LimitRangeItem{Min: cpu("2")}), quota("flux-system"), quota("other"),
	).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if until, bounded := ctx.Deadline(); !bounded || until.IsZero() {
				t.Error("the read is not bounded")
			}
			if _, ranges := list.(*corev1.LimitRangeList); ranges && fail == "LimitRanges" || !ranges && fail == "ResourceQuotas" {
				return errors.New(http.StatusText(http.StatusForbidden))
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	room, err := RoomOf(store)(t.Context(), "flux-system")
	if err != nil || len(room.Ranges) != 1 || len(room.Quotas) != 1 || room.Ranges[0].Namespace != "flux-system" || room.Quotas[0].Namespace != "flux-system" {
		t.Errorf("got %+v, %v", room, err)
	}
	for _, fail = range []string{"LimitRanges", "ResourceQuotas"} {
		if room, err := RoomOf(store)(t.Context(), "flux-system"); err == nil || !strings.Contains(err.Error(), fail) || !room.Empty() {
			t.Errorf("got %+v, %v", room, err)
		}
	}
}
