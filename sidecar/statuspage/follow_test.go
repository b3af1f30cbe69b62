package statuspage

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestEveryChangeInTheCacheIsToldToThePage(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	informers := &informertest.FakeInformers{Scheme: scheme}
	s := onStage(t)
	if err := s.Follow(t.Context(), informers); err != nil {
		t.Fatal(err)
	}
	informer, err := informers.FakeInformerFor(t.Context(), &v1alpha1.FluxTrigger{})
	if err != nil {
		t.Fatal(err)
	}
	was, is := trigger("team", "app"), trigger("team", "app")
	for what, happen := range map[string]func(){
		"made":    func() { informer.Add(&is) },
		"changed": func() { informer.Update(&was, &is) },
		"deleted": func() { informer.Delete(&is) },
	} {
		board, err := s.current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		happen()
		if again, err := s.current(t.Context()); err != nil || again == board {
			t.Errorf("a trigger that was %s is not seen: %v", what, err)
		}
		if again, _ := s.current(t.Context()); again != s.board {
			t.Error("the board is drawn anew although nothing changed")
		}
	}
}
