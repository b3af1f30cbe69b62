package hold

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheSourceIsPublishedWithoutCredentials(t *testing.T) {
	for given, want := range map[string]string{
		"https://git.example/team/app":              "https://git.example/team/app",
		"https://bob:hunter2@git.example/team/app":  "https://git.example/team/app",
		"https://ghp_secret@git.example/team/app":   "https://git.example/team/app",
		"http://:hunter2@git.example:8080/team/app": "http://git.example:8080/team/app",
		"ssh://git@git.example/team/app":            "ssh://git@git.example/team/app",
		"ssh://git:hunter2@git.example/team/app":    "ssh://git@git.example/team/app",
	} {
		s := seen(held, func(s *Seen) { s.GitRepository.Spec.URL = given })
		if got := Decide(s).Status.Source.URL; got != want {
			t.Errorf("%s is published as %s", given, got)
		}
	}
}

func TestAFetchThatFailedIsToldWithoutCredentials(t *testing.T) {
	s := seen(held, request("r1", c2), source("holdfast-fetch-r1", "holdfast-fetch-r1"), func(s *Seen) {
		s.GitRepository.Spec.URL = "https://bob:hunter2@git.example/team/app"
		s.GitRepository.Status.Conditions = []metav1.Condition{{
			Type: "Ready", Status: "False", Reason: "GitOperationFailed", Message: "unable to clone 'https://bob:hunter2@git.example/team/app': refused",
		}}
	})
	got := Decide(s).Status.LastHandledRequest.Message
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "unable to clone 'https://git.example/team/app': refused") {
		t.Error(got)
	}
}
