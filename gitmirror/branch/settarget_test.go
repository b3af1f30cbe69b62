package branch

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// Whoever is told of a change looks at the target and sets it: set again as it is, it must tell nobody, or they go round for
// ever.
func TestATargetSetAsItIsChangesNothing(t *testing.T) {
	w, name := New(Options{Branch: "main"}), types.NamespacedName{Namespace: "shop", Name: "web"}
	apps, web := TargetSettings{Folder: "apps"}, TargetSettings{Folder: "web"}
	for _, step := range []struct {
		says string
		do   func()
		want int
	}{
		{"set first", func() { w.SetTarget(name, apps) }, 1},
		{"set as it is", func() { w.SetTarget(name, apps) }, 0},
		{"set otherwise", func() { w.SetTarget(name, web) }, 1},
		{"removed", func() { w.RemoveTarget(name) }, 1},
		{"removed again", func() { w.RemoveTarget(name) }, 0},
		{"set anew", func() { w.SetTarget(name, web) }, 1},
	} {
		if step.do(); len(w.take()) != step.want {
			t.Errorf("%s: it is not %d events", step.says, step.want)
		}
	}
}
