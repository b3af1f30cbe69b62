package inject

import "testing"

func TestAnImageIsFluxByTheWordsOfItsName(t *testing.T) {
	for _, row := range []struct {
		name, app string
		want      bool
	}{
		{"kustomize-controller", "kustomize-controller", true},
		{"kustomize-controller", "kustomize-controller-shard1", true},
		{"flux-kustomize-controller", "kustomize-controller", true},
		{"fluxcd-kustomize-controller", "kustomize-controller-shard1", true},
		{"ghcr.io_fluxcd_kustomize-controller", "kustomize-controller", true},
		{"fluxcd.kustomize-controller", "kustomize-controller", true},
		{"kustomize-controller-fips", "kustomize-controller", true},
		{"fluxcd-kustomize-controller-fips", "kustomize-controller", true},
		{"mykustomize-controller", "kustomize-controller", false},
		{"kustomize-controllers", "kustomize-controller", false},
		{"kustomize-controller2", "kustomize-controller", false},
		{"kustomize", "kustomize-controller", false},
		{"controller-kustomize", "kustomize-controller", false},
		{"", "kustomize-controller", false},
		{"kustomize-controller-exporter", "kustomize-controller-exporter", false},
		{"my-kustomize-controller-exporter", "kustomize-controller-exporter", false},
	} {
		if got := isFlux(row.name, row.app); got != row.want {
			t.Errorf("%s under the label %s: %t", row.name, row.app, got)
		}
	}
}
