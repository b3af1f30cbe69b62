package author

import (
	"strings"
	"testing"
)

func TestOfWritesDownAUsername(t *testing.T) {
	for _, row := range []struct{ says, username, name, email string }{
		{"an address is its own address", "alice@example.org", "alice@example.org", "alice@example.org"},
		{"a plain name gets the domain that resolves to nobody", "alice", "alice", "alice@users.holdfast.invalid"},
		{"a service account keeps its colons in the name and escapes them in the address",
			"system:serviceaccount:team-a:deployer", "system:serviceaccount:team-a:deployer",
			"system=3Aserviceaccount=3Ateam-a=3Adeployer@users.holdfast.invalid"},
		{"an address with a display name is not taken for one", "Alice <alice@example.org>", "Alice ?alice@example.org?",
			"Alice=20=3Calice=40example.org=3E@users.holdfast.invalid"},
		{"a line break cannot forge a header", "eve\ncommitter root <r@r>", "eve?committer root ?r@r?",
			"eve=0Acommitter=20root=20=3Cr=40r=3E@users.holdfast.invalid"},
		{"nobody is unresolved", "", Unresolved.Name, Unresolved.Email},
		{"blanks are nobody", "  ", Unresolved.Name, Unresolved.Email},
		{"what Git would strip to nothing stays visible", "...", "?", "...@users.holdfast.invalid"},
	} {
		t.Run(row.says, func(t *testing.T) {
			got := Of(row.username)
			if got.Name != row.name || got.Email != row.email {
				t.Errorf("Of(%q) = %q <%s>, want %q <%s>", row.username, got.Name, got.Email, row.name, row.email)
			}
		})
	}
}

func FuzzOfIsAlwaysSafeForGit(f *testing.F) {
	f.Add("alice@example.org")
	f.Add("a\x00b<c>\r\n")
	f.Add(strings.Repeat("é", 300))
	f.Fuzz(func(t *testing.T, username string) {
		got := Of(username)
		if strings.ContainsAny(got.Name+got.Email, "<>\n\r\x00") || got.Name == "" || got.Email == "" {
			t.Errorf("Of(%q) = %q <%q>", username, got.Name, got.Email)
		}
	})
}
