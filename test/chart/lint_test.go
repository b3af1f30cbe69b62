package chart

import (
	"path/filepath"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
)

func TestHelmHasNothingToSay(t *testing.T) {
	version, err := common.ParseKubeVersion("v1.30.0")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range cases(t) {
		lint := action.NewLint()
		lint.Strict, lint.Namespace, lint.KubeVersion = true, install.Namespace, version
		result := lint.Run([]string{chartDir}, read(t, filepath.Join(dir, "values.yaml")))
		for _, err := range result.Errors {
			t.Errorf("%s: %v", dir, err)
		}
		for _, m := range result.Messages {
			if m.Severity > 1 { // more than information, such as that there is no icon
				t.Errorf("%s: %s", dir, m)
			}
		}
	}
}
