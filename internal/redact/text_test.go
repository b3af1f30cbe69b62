package redact

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for name, row := range map[string]struct{ in, want string }{
		"a message without a URL stays":         {"commit 1 by a@b.example: not found", "commit 1 by a@b.example: not found"},
		"a URL without credentials stays":       {"clone https://git.example/a.git: 404", "clone https://git.example/a.git: 404"},
		"a password goes":                       {"clone https://bob:hunter2@git.example/a.git: 401", "clone https://git.example/a.git: 401"},
		"a token in the user's place goes":      {"https://hunter2@git.example/a", "https://git.example/a"},
		"a password with an @ goes whole":       {"http://bob:hun@ter2@git.example/a", "http://git.example/a"},
		"a password with a ? goes whole":        {"http://bob:hunter2?x@git.example/a", "http://git.example/a"},
		"a scheme in capitals counts":           {"HTTPS://hunter2@git.example/a", "HTTPS://git.example/a"},
		"the user of ssh stays":                 {"ssh://git@git.example:22/a", "ssh://git@git.example:22/a"},
		"the password of ssh goes":              {"ssh://git:hunter2@git.example/a", "ssh://git@git.example/a"},
		"a query goes, and what follows stays":  {"get https://git.example/a?private_token=hunter2 failed", "get https://git.example/a?… failed"},
		"each of several URLs is looked at":     {"https://hunter2@a/ and https://x:hunter2@b/", "https://a/ and https://b/"},
		"an @ in the path is no user":           {"https://git.example/@team/a", "https://git.example/@team/a"},
		"a URL in quotation marks is one still": {`Get "https://x:hunter2@b/": EOF`, `Get "https://b/": EOF`},
	} {
		t.Run(name, func(t *testing.T) {
			got := Text(row.in)
			if got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if Text(got) != got {
				t.Errorf("a second time: %s", Text(got))
			}
		})
	}
}

func FuzzTextHidesAPasswordAndIsStable(f *testing.F) {
	f.Add("clone ", "bob", "git.example/a", " failed")
	f.Add("", "", "", "?x=1")
	f.Fuzz(func(t *testing.T, before, user, host, after string) {
		if strings.ContainsAny(user, "/ \t\n\r\v\f") || strings.Contains(before+user+host+after, "SECRET") {
			t.Skip()
		}
		got := Text(before + " https://" + user + ":SECRET@" + host + " " + after)
		if strings.Contains(got, "SECRET") {
			t.Errorf("the password is in %q", got)
		}
		if Text(got) != got {
			t.Errorf("%q becomes %q", got, Text(got))
		}
	})
}
