package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestTheNotesSayWhatIsSo(t *testing.T) {
	const (
		bootstrap = "flux bootstrap"
		refuses   = "only the holder"
		holder    = "flux-system/kustomize-controller)"
		handsBack = "hands everything back first"
	)
	for _, row := range []struct {
		says  string
		set   string
		want  []string
		never []string
	}{
		{"a fence that refuses names who may resume", "fence: {mode: Deny}", []string{refuses, holder, "break-glass"}, []string{"Warn"}},
		{"a fence that warns refuses nobody", "fence: {mode: Warn}", []string{"refuses nothing", "is warned", holder}, []string{refuses, "break-glass"}},
		{"without a fence nothing is said of one", "{}", nil, []string{"fence", holder}},
		{"without Flux there is no holder", "{flux: {enabled: false}, argocd: {enabled: true}, fence: {mode: Deny}}",
			[]string{"(Deny) for Applications, of which none is held"}, []string{"flux-system", "kustomize-controller", "rollout"}},
		{"nor a fence without Argo CD as well", "{flux: {enabled: false}, fence: {mode: Deny}}", []string{"nothing to guard"}, []string{"flux-system", "kustomize-controller", "is on"}},
		{"bootstrap puts its own labels back", "flux: {namespace: gitops}", []string{bootstrap, "Namespace in gitops/kustomization.yaml", "kubectl label namespace gitops"}, nil},
		{"the community's chart does not", "flux: {flavour: chart}", []string{"kubectl label namespace flux-system"}, []string{bootstrap}},
		{"an operator is told by its FluxInstance", "flux: {flavour: operator}", []string{"in the FluxInstance"}, []string{bootstrap, "kubectl label"}},
		{"the guide goes on where the chart ends", "{}", []string{"hold a Kustomization", "docs/install-flux.md#3-say-what-is-mirrored", "docs/flux.md"}, nil},
		{"an uninstall hands back", "{}", []string{handsBack}, []string{"holdfast release"}},
		{"unless it is told not to", "uninstall: {handBack: false}", []string{"hand everything back with holdfast release --all"}, []string{handsBack}},
		{"with nothing left to do, nothing is announced", "{flux: {enabled: false}, gitmirror: {audit: {enabled: false}}, kubeProvider: {default: {enabled: true}}}", nil, []string{"What to do", " 1. "}},
	} {
		t.Run(row.says, func(t *testing.T) {
			v := values{}
			if err := yaml.Unmarshal([]byte(row.set), &v); err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(strings.Fields(mustRender(t, v, install)["NOTES.txt"]), " ")
			for _, want := range row.want {
				if !strings.Contains(notes, want) {
					t.Errorf("they do not say %q:\n%s", want, notes)
				}
			}
			for _, never := range row.never {
				if strings.Contains(notes, never) {
					t.Errorf("they say %q:\n%s", never, notes)
				}
			}
		})
	}
}

// A page the notes send a reader to is there, and so is the part of it.
func TestTheNotesLeadSomewhere(t *testing.T) {
	found := 0
	for _, dir := range cases(t) {
		notes := mustRender(t, read(t, filepath.Join(dir, "values.yaml")), install)["NOTES.txt"]
		for _, m := range regexp.MustCompile(`https://github\.com/holdfast-gitops/holdfast/blob/main/([\w./-]+)(?:#([\w-]+))?`).FindAllStringSubmatch(notes, -1) {
			found++
			page, err := os.ReadFile(filepath.Join("..", "..", m[1]))
			if err != nil {
				t.Errorf("%s: %v", dir, err)
				continue
			}
			if m[2] != "" && !anchors(string(page))[m[2]] {
				t.Errorf("%s: %s has no part %q", dir, m[1], m[2])
			}
		}
	}
	if found == 0 {
		t.Error("they lead nowhere")
	}
}

// anchors are the parts of a page by the names that GitHub gives them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}
