package controller

import (
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestAHolderLeavesAloneWhatItsControllerDoesNotLookAt(t *testing.T) {
	mine := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Labels: map[string]string{"shard": "1"}}}
	for _, row := range []struct {
		name, shard, watched string
		elsewhere            bool
	}{
		{"it looks at all", "", "", false},
		{"it looks at this shard", "shard=1", "", false},
		{"it looks at another shard", "shard=2", "", true},
		{"it looks at this namespace", "", "team", false},
		{"it looks at another namespace", "", "flux-system", true},
		{"it looks at this shard in another namespace", "shard=1", "flux-system", true},
		{"it looks at another shard in this namespace", "shard=2", "team", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			shard, err := labels.Parse(row.shard)
			if err != nil {
				t.Fatal(err)
			}
			r := &Reconciler{Leader: leads{}, Shard: shard, Watched: row.watched}
			if c := r.controller(mine); c.Elsewhere != row.elsewhere {
				t.Errorf("elsewhere: %t", c.Elsewhere)
			}
			if r.controller(nil).Elsewhere {
				t.Error("a Kustomization that is gone is elsewhere")
			}
		})
	}
}
