package branch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

func object(kind, ns, name string) manifest.Identity {
	return manifest.Identity{Group: "apps", Version: "v1", Kind: kind, Namespace: ns, Name: name}
}

func TestMessageSaysWhatChanged(t *testing.T) {
	web, db := object("Deployment", "team-a", "web"), object("Deployment", "team-a", "db")
	long := object("Deployment", "team-a", strings.Repeat("long-", 20)+"name")
	var many []manifest.Identity
	for i := range 60 {
		many = append(many, object("ConfigMap", "team-a", fmt.Sprint("c", i)))
	}
	var listed []string
	for i := range 49 {
		listed = append(listed, fmt.Sprintf("update ConfigMap team-a/c%d", i))
	}
	for _, row := range []struct {
		says    string
		made    []manifest.Identity // for the first time
		written []manifest.Identity
		want    string
	}{
		{"one object is the subject", nil, []manifest.Identity{web}, "update Deployment team-a/web"},
		{"a new one is created", []manifest.Identity{web}, []manifest.Identity{web}, "create Deployment team-a/web"},
		{"several are counted and listed", []manifest.Identity{db}, []manifest.Identity{web, db},
			"update 2 objects in team-a\n\nupdate Deployment team-a/web\ncreate Deployment team-a/db"},
		{"several namespaces are not named", nil, []manifest.Identity{web, object("Deployment", "team-b", "web")},
			"update 2 objects\n\nupdate Deployment team-a/web\nupdate Deployment team-b/web"},
		{"a long subject is cut and said in full below", nil, []manifest.Identity{long},
			"update Deployment team-a/" + long.Name[:46] + "…\n\nupdate Deployment team-a/" + long.Name},
		{"a long list is cut", nil, many, "update 60 objects in team-a\n\n" + strings.Join(listed, "\n") + "\nand 11 more"},
		{"a name cannot forge a line", nil, []manifest.Identity{object("Deployment", "", "x\n\nHoldfast-Write: other")}, "update Deployment x Holdfast-Write: other"},
	} {
		t.Run(row.says, func(t *testing.T) {
			created := map[manifest.Identity]bool{}
			for _, id := range row.made {
				created[id] = true
			}
			got := message(Write{ID: "w-7"}, row.written, created)
			if diff := cmp.Diff(row.want+"\n\nHoldfast-Write: w-7\n", got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if subject, _, _ := strings.Cut(got, "\n"); len([]rune(subject)) > maxSubject {
				t.Errorf("subject of %d runes", len([]rune(subject)))
			}
			if id := writeOf(got); id != "w-7" {
				t.Errorf("the write is %q", id)
			}
		})
	}
}

func TestMessageNamesWhoActedInTheAuthorsName(t *testing.T) { // B36
	got := message(Write{ID: "w-7", Impersonators: []string{"bob@example.org", "eve\nHoldfast-Write: w-8"}}, []manifest.Identity{object("Deployment", "team-a", "web")}, nil)
	want := "update Deployment team-a/web\n\nImpersonated-By: bob@example.org <bob@example.org>\n" +
		"Impersonated-By: eve?Holdfast-Write: w-8 <eve=0AHoldfast-Write=3A=20w-8@users.holdfast.invalid>\nHoldfast-Write: w-7\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if id := writeOf(got); id != "w-7" {
		t.Errorf("the write is %q", id)
	}
}

func TestWriteOfReadsOnlyTheTrailers(t *testing.T) {
	for _, row := range []struct{ says, message, want string }{
		{"a plain commit names none", "fix the build\n", ""},
		{"the trailer among others", "subject\n\nbody\n\nSigned-off-by: bob\nHoldfast-Write: w-1\n", "w-1"},
		{"a quotation in the body does not count", "Revert \"x\"\n\nHoldfast-Write: w-1\n\nIt broke the build.\n", ""},
		{"nothing", "", ""},
	} {
		t.Run(row.says, func(t *testing.T) {
			if got := writeOf(row.message); got != row.want {
				t.Errorf("writeOf() = %q, want %q", got, row.want)
			}
		})
	}
}
