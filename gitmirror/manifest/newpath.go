package manifest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// clusterFolder stands for the namespace of objects that have none; no namespace can have this name.
const clusterFolder = "_cluster"

// maxSegment is how many bytes the file systems people check out to take for one name.
const maxSegment = 255

var segment = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// NewFilePath returns where a new document of id goes: {folder}/{namespace}/{group}/{resource}/{name}.yaml from the
// repository's root, "core" for the core group and "_cluster" for objects without a namespace. Bytes of the name that
// some file system would mind are written =XX. It fails on a folder outside the repository and on a namespace, group or
// resource that Kubernetes would not admit, so the path never leaves folder.
func NewFilePath(folder string, id Identity, resource string) (string, error) {
	folder, err := cleanFolder(folder)
	if err != nil {
		return "", err
	}
	namespace, group := id.Namespace, id.Group
	if namespace == "" {
		namespace = clusterFolder
	}
	if group == "" {
		group = "core"
	}
	for what, s := range map[string]string{"namespace": namespace, "group": group, "resource": resource} {
		if s != clusterFolder && !segment.MatchString(s) || strings.Contains(s, "..") || len(s) > maxSegment {
			return "", fmt.Errorf("%s %q cannot be a folder", what, s)
		}
	}
	name := fileName(id.Name)
	if id.Name == "" || len(name) > maxSegment {
		return "", fmt.Errorf("name %q cannot be a file name of at most %d bytes", id.Name, maxSegment)
	}
	return path.Join(folder, namespace, group, resource, name), nil
}

// cleanFolder returns folder as a path from the repository's root, "." for the root.
func cleanFolder(folder string) (string, error) {
	clean := path.Clean(folder)
	if !fs.ValidPath(clean) {
		return "", fmt.Errorf("folder %q is not inside the repository", folder)
	}
	return clean, nil
}

// fileName returns name with ".yaml", every byte outside [a-zA-Z0-9._-] and a leading point written as =XX, so that
// different names stay different.
func fileName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String() + ".yaml"
}
