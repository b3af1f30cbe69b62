// Package rights compares docs/security.md with the roles that are generated from the code: the page names each right a
// program has, and none it has not.
package rights

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const root = "../.."

func TestThePageNamesTheRightsOfEachRole(t *testing.T) {
	roles, err := filepath.Glob(filepath.Join(root, "charts/holdfast/files/rbac/*.yaml"))
	if err != nil || len(roles) == 0 {
		t.Fatalf("no roles found: %v", err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range roles {
		part := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(part, func(t *testing.T) {
			has, err := granted(file)
			if err != nil {
				t.Fatal(err)
			}
			says := told(string(page), part)
			if len(says) == 0 {
				t.Fatalf("docs/security.md has no table under %q", heading(part))
			}
			for _, right := range has {
				if !slices.Contains(says, right) {
					t.Errorf("the role has a right that the page does not name: %s", right)
				}
			}
			for _, right := range says {
				if !slices.Contains(has, right) {
					t.Errorf("the page names a right that the role does not have: %s", right)
				}
			}
		})
	}
}

// granted returns the rights in the roles of a file as "group resource verb", sorted.
func granted(file string) ([]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []string
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var role rbacv1.ClusterRole // a Role has the same fields
		switch err := decoder.Decode(&role); {
		case errors.Is(err, io.EOF):
			slices.Sort(all)
			return slices.Compact(all), nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				all = append(all, rights(group, rule.Resources, rule.Verbs)...)
			}
		}
	}
}

func rights(group string, resources, verbs []string) []string {
	if group == "" {
		group = "core"
	}
	var all []string
	for _, resource := range resources {
		for _, verb := range verbs {
			all = append(all, fmt.Sprintf("%s %s %s", group, resource, verb))
		}
	}
	return all
}

func heading(part string) string {
	if part == "gitmirror" {
		return "## What gitmirror may do"
	}
	return "## What the " + part + " may do"
}

var row = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$`)

// told returns the rights in the table of the part's chapter. What has a space in it, after the resources, says which of them
// are meant, and is none itself.
func told(page, part string) []string {
	_, chapter, found := strings.Cut(page, heading(part))
	if !found {
		return nil
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	var all []string
	for _, m := range row.FindAllStringSubmatch(chapter, -1) {
		if m[1] == "API group" || strings.HasPrefix(m[1], "---") {
			continue
		}
		var resources []string
		for _, r := range strings.Split(m[2], ", ") {
			if !strings.Contains(r, " ") {
				resources = append(resources, r)
			}
		}
		for _, group := range strings.Split(m[1], ", ") {
			all = append(all, rights(group, resources, strings.Split(m[3], ", "))...)
		}
	}
	return all
}
