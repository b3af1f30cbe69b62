package repourl

import (
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	const plain = "https://git.example/team/app"
	tests := []struct {
		name string
		a, b string
		want bool
	}{
		{"an URL is itself", plain, plain, true},
		{"a .git at the end means nothing", plain, plain + ".git", true},
		{"a slash at the end means nothing", plain, plain + "/", true},
		{"a .git with a slash behind it means nothing", plain, plain + ".git/", true},
		{"doubled slashes mean nothing", plain, "https://git.example//team//app", true},
		{"the host has no case", plain, "https://GIT.Example/team/app", true},
		{"the scheme has no case", plain, "HTTPS://git.example/team/app", true},
		{"a dot behind the host means nothing", plain, "https://git.example./team/app", true},
		{"the scheme's own port means nothing", plain, "https://git.example:443/team/app", true},
		{"http and https are one", plain, "http://git.example:80/team/app", true},
		{"user and password mean nothing", plain, "https://bob:secret@git.example/team/app", true},
		{"ssh and https are one", plain, "ssh://git@git.example:22/team/app.git", true},
		{"the scp form is ssh", plain, "git@git.example:team/app.git", true},
		{"the scp form needs no user", plain, "git.example:/team/app", true},
		{"an escaped path is its plain form", plain, "https://git.example/te%61m/app", true},
		{"an address in brackets", "ssh://git@[::1]/team/app", "git@[::1]:team/app", true},

		{"another host", plain, "https://git2.example/team/app", false},
		{"another path", plain, "https://git.example/team/app2", false},
		{"a path has case", plain, "https://git.example/team/App", false},
		{"another port", plain, "https://git.example:8443/team/app", false},
		{"the port of another scheme", plain, "https://git.example:80/team/app", false},
		{"a query is part of the path", plain, plain + "?repo=2", false},
		{"a prefix of the path", plain, "https://git.example/team", false},
		{"nothing is not even itself", "", "", false},
		{"a folder is no repository", "/srv/git/app", "/srv/git/app", false},
		{"a host alone is no repository", "https://git.example/", "https://git.example", false},
		{"an unknown scheme is no repository", "oci://git.example/team/app", "oci://git.example/team/app", false},
		{"a broken escape is no repository", "https://git.example/%zz", "https://git.example/%zz", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Same(tt.a, tt.b); got != tt.want {
				ka, _ := Key(tt.a)
				kb, _ := Key(tt.b)
				t.Errorf("Same(%q, %q) = %v; keys %q and %q", tt.a, tt.b, got, ka, kb)
			}
			if Same(tt.b, tt.a) != Same(tt.a, tt.b) {
				t.Error("the order matters")
			}
		})
	}
}

// FuzzKey holds that a key never carries credentials and is the key of its own https URL.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"https://u:p@h/p.git", "git@h:p", "ssh://git@[::1]:2222/a/b", "h:22/p", "a@b@c:d", "https://h/.git"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		key, ok := Key(raw)
		if !ok {
			return
		}
		host, _, found := strings.Cut(key, "/")
		if !found || strings.Contains(host, "@") {
			t.Fatalf("Key(%q) = %q", raw, key)
		}
		if strings.ContainsAny(key, "%?# \\") || strings.HasSuffix(key, ".git") {
			return // not one to be written into a URL as it is, or a repository that is called so
		}
		if again, ok := Key("https://" + key); ok && again != key {
			t.Fatalf("Key(%q) = %q, and of that %q", raw, key, again)
		}
	})
}
