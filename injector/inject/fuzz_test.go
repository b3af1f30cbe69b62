package inject

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// FuzzInject: whatever a pod says, it is either left alone with a reason, or the patch applies, adds one holder and one
// annotation and nothing else, and a second time adds nothing.
func FuzzInject(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "*", "pod.yaml"))
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, seed := range seeds {
		f.Add(readPod(f, seed))
	}
	policy := DefaultPolicy()
	policy.ArgoCD.Enabled = true
	f.Fuzz(func(t *testing.T, pod []byte) {
		if len(pod) > 1<<16 {
			t.Skip("larger than is worth the time")
		}
		r, err := Inject(pod, "", policy)
		switch {
		case err != nil && (r.Patch != nil || r.Skip != ""):
			t.Errorf("a result beside an error: %+v", r)
		case err != nil:
		case r.Why == "":
			t.Error("nobody is told why")
		case r.Skip != "" && r.Patch != nil:
			t.Errorf("a patch although it was skipped: %s", r.Why)
		case r.Skip == "" && len(r.Patch) == 0:
			t.Error("no patch and no reason")
		case r.Skip == "":
			if !json.Valid(pod) {
				t.Fatal("a patch of what is no JSON")
			}
			checkPatched(t, pod, r)
		}
		for _, w := range r.Warnings {
			if len(w) > 400 {
				t.Errorf("a warning of %d bytes", len(w))
			}
		}
	})
}
