package hold

import (
	"net/url"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CommitOf returns the commit inside a Flux revision: `main@sha1:<hex>`, `refs/heads/main@sha1:<hex>` or `sha1:<hex>`.
// It is empty when there is none.
func CommitOf(revision string) string {
	digest := revision[strings.LastIndex(revision, "@")+1:]
	algorithm, hex, ok := strings.Cut(digest, ":")
	if !ok || !strings.HasPrefix(algorithm, "sha") {
		return ""
	}
	return hex
}

// isAt says that a Flux revision is of that commit. No revision is of none.
func isAt(revision, commit string) bool { return commit != "" && CommitOf(revision) == commit }

// BranchOf returns the branch the GitRepository follows, and whether it follows one. Flux takes a commit, name, semver or
// tag before the branch; without any of them it follows master.
func BranchOf(g *sourcev1.GitRepository) (branch string, ok bool) {
	ref := g.Spec.Reference
	switch {
	case ref == nil:
		return "master", true
	case ref.Commit != "" || ref.Name != "" || ref.SemVer != "" || ref.Tag != "":
		return "", false
	case ref.Branch == "":
		return "master", true
	}
	return ref.Branch, true
}

// artifactRevision returns the revision of the artifact that can be applied now; empty when there is none.
func artifactRevision(g *sourcev1.GitRepository) string {
	if g == nil || g.Status.Artifact == nil {
		return ""
	}
	return g.Status.Artifact.Revision
}

// maxURL bounds the URL of a source in bytes; the trigger's status takes no longer one.
const maxURL = 2048

// publicURL returns the URL of g as others than its readers may see it: without a password, and over HTTP, where the user
// may be a token, without the user as well.
func publicURL(g *sourcev1.GitRepository) string {
	u, err := url.Parse(g.Spec.URL)
	switch {
	case err != nil || u.User == nil:
		return g.Spec.URL
	case strings.HasPrefix(u.Scheme, "http"):
		u.User = nil
	default:
		u.User = url.User(u.User.Username())
	}
	return u.String()
}

// SourceOf returns where k's source is; Flux means k's own namespace when the reference names none.
func SourceOf(k *kustomizev1.Kustomization) types.NamespacedName {
	ref := k.Spec.SourceRef
	if ref.Namespace == "" {
		return types.NamespacedName{Namespace: k.Namespace, Name: ref.Name}
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}
