package command

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// stubborn makes the trigger anew as soon as it is deleted, times over, as whoever applies it from Git does.
func stubborn(times int) interceptor.Funcs {
	return interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
		if err := c.Delete(ctx, o, opts...); err != nil || times == 0 {
			return err
		}
		times--
		return c.Create(ctx, applied(string(o.GetUID())+"+"))
	}}
}

// applied is a trigger that a Kustomization applies.
func applied(uid string) *v1alpha1.FluxTrigger {
	t := trigger("app", uid, "app")
	t.Labels = map[string]string{fluxName: "apps", fluxNamespace: "flux-system"}
	t.UID = types.UID(uid)
	return t
}

func TestAllLooksAgainForTriggersThatWereMadeAnew(t *testing.T) {
	for _, row := range []struct {
		says  string
		times int
		lines int
		err   string
	}{
		{"nobody makes it anew", 0, 1, ""},
		{"somebody does once", 1, 2, ""},
		{"somebody does each time", 99, looks, "FluxTrigger team-a/app (Kustomization flux-system/apps); take it out"},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := reaching(t, stubborn(row.times), kubeSystem, applied("t"))
			work, err := r.everything(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = r.untilNothingIsHeld(t.Context(), &out, work)
			if got := strings.Count(out.String(), "\n"); got != row.lines {
				t.Errorf("%d lines, want %d:\n%s", got, row.lines, out.String())
			}
			if !strings.Contains(out.String(), "its trigger is applied by Kustomization flux-system/apps, which makes it anew") {
				t.Errorf("it does not say who will make it anew:\n%s", out.String())
			}
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("it ends with %v, want %q", err, row.err)
			}
		})
	}
}

func TestWhoAppliesATriggerIsRead(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.FluxTrigger){
		"": func(*v1alpha1.FluxTrigger) {},
		"Kustomization flux-system/all": func(t *v1alpha1.FluxTrigger) {
			t.Labels = map[string]string{fluxName: "all", fluxNamespace: "flux-system"}
		},
		"HelmRelease team-a/web": func(t *v1alpha1.FluxTrigger) { t.Labels = map[string]string{helmName: "web", helmNamespace: "team-a"} },
		"Application web": func(t *v1alpha1.FluxTrigger) {
			t.Annotations = map[string]string{argoTracking: "web:holdfast.dev/FluxTrigger:team-a/app"}
		},
	} {
		f := trigger("app", "t", "app")
		change(f)
		if got := appliedBy(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What cannot be handed back in time is named with the reason, and nothing waits on.
func TestItEndsWithinTheTimeItIsGiven(t *testing.T) {
	kept := trigger("app", "t", "app")
	kept.Finalizers = []string{v1alpha1.HoldFinalizer}
	r := reaching(t, interceptor.Funcs{}, kubeSystem, kept, kustomization("app", "here/t"))
	work, err := r.everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("it was not done within 100ms"))
	defer cancel()
	var out bytes.Buffer
	err = r.untilNothingIsHeld(ctx, &out, work)
	if want := "FluxTrigger team-a/app: not handed back: interrupted; run this again: it was not done within 100ms\n"; out.String() != want || err == nil {
		t.Errorf("%q and %v, want %q", out.String(), err, want)
	}
}
