package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The last column is the age, of which only the heading is compared.
func TestKubectlPrintsWhatAPersonLooksFor(t *testing.T) {
	for _, row := range []struct {
		kind string
		args string
		want []string
	}{
		{"KubeProvider", "", []string{"NAME READY AUDIT AGE", "printed True False"}},
		{"GitProvider", "-n team-a", []string{"NAME URL READY REASON AGE", "printed https://git.example.org/team-a/fleet.git False Unreachable"}},
		{"GitTarget", "-n team-a", []string{"NAME BRANCH PATH PUSHED READY REASON AGE", "printed main apps c0ffee Unknown Progressing"}},
		{"WatchRule", "-n team-a", []string{"NAME TARGET READY REASON AGE", "printed fleet False GitTargetNotFound"}},
		{"FluxTrigger", "-n team-a", []string{"NAME HELD OPERATION COMMIT BEHIND READY AGE", "printed Suspended Failed c0ffee <invalid> False"}},
		{"FluxTrigger", "-n team-a -o wide", []string{"NAME HELD OPERATION COMMIT BEHIND READY REASON AGE", "printed Suspended Failed c0ffee <invalid> False ApplyFailed"}},
	} {
		t.Run(strings.TrimSpace(row.kind+" "+row.args), func(t *testing.T) {
			create(t, row.kind, "printed")
			out := kubectl(t, append([]string{"get", row.kind, "printed"}, strings.Fields(row.args)...)...)
			var got []string
			for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
				words := strings.Fields(line)
				if i > 0 {
					words = words[:len(words)-1]
				}
				got = append(got, strings.Join(words, " "))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOneWordListsEverythingOfHoldfast(t *testing.T) {
	var want []string
	for kind := range full {
		create(t, kind, "listed")
		if kind != "KubeProvider" {
			want = append(want, strings.ToLower(kind)+".holdfast.dev/listed")
		}
	}
	slices.Sort(want)
	got := strings.Fields(kubectl(t, "-n", "team-a", "get", "holdfast", "-o", "name"))
	got = slices.DeleteFunc(got, func(name string) bool {
		return !strings.HasSuffix(name, "/listed") || strings.HasPrefix(name, "kubeprovider")
	})
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestKubectlExplainsAField(t *testing.T) {
	for field, sentence := range map[string]string{
		"kubeprovider.spec.allowCrossNamespace.appliers": "Appliers lets a trigger name a Kustomization in another namespace, such as flux-system.",
		"kubeprovider.spec.accessFrom":                   "AccessFrom names the namespaces whose GitTargets and triggers may use this cluster. Absent, every namespace may.",
		"gitprovider.spec.secretRef":                     "SecretRef names a Secret in this namespace with the credentials: keys username and password, or bearerToken.",
		"gittarget.spec.branch":                          "Branch that is written; the GitProvider's allowedBranches must admit it.",
		"watchrule.spec.rules.apiGroups":                 `APIGroups, "" being the core group.`,
		"fluxtrigger.spec.quietPeriod":                   "QuietPeriod is how long the branch must be quiet before an apply is asked for. Default 30s, at most 1h.",
		"fluxtrigger.status.operation":                   "Operation is the newest operation.",
		"fluxtrigger":                                    "FluxTrigger holds one Kustomization: it stays suspended, and is resumed for one recorded operation at a time.",
	} {
		t.Run(field, func(t *testing.T) {
			if out := kubectl(t, "explain", field); !strings.Contains(strings.Join(strings.Fields(out), " "), sentence) {
				t.Errorf("%q is not in\n%s", sentence, out)
			}
		})
	}
}
