package scratch

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file or, with the directory bit of Mode set, a folder of an image. Everything belongs to root.
type File struct {
	Path string      // absolute, as a process in the container says it
	Mode fs.FileMode // permissions, and fs.ModeDir and fs.ModeSticky where they apply

	Content []byte // of a file; nil: that of From
	From    string // a file of this machine, read when the image is made
}

// read is what the file holds.
func (f File) read() ([]byte, error) {
	if f.Content != nil || f.From == "" {
		return f.Content, nil
	}
	return os.ReadFile(f.From)
}

// withFolders returns the files with the folders they are in, in the order of their paths. Folders that are not among the
// files may be read by everybody.
func withFolders(files []File) ([]File, error) {
	all := map[string]File{}
	for _, f := range files {
		if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
			return nil, fmt.Errorf("%q is not the path of a file in an image", f.Path)
		}
		if _, twice := all[f.Path]; twice {
			return nil, fmt.Errorf("%s is there twice", f.Path)
		}
		all[f.Path] = f
	}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "/"; dir = path.Dir(dir) {
			if there, found := all[dir]; !found {
				all[dir] = File{Path: dir, Mode: fs.ModeDir | 0o755}
			} else if !there.Mode.IsDir() {
				return nil, fmt.Errorf("%s is a file, and %s is in it", dir, f.Path)
			}
		}
	}
	sorted := make([]File, 0, len(all))
	for _, f := range all {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return sorted, nil
}

// archive is the files as the tar archive of a layer. Its times are zero, which reads as 1970.
func archive(files []File) ([]byte, error) {
	sorted, err := withFolders(files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range sorted {
		content, err := f.read()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Path, err)
		}
		header := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: tarMode(f.Mode), Typeflag: tar.TypeReg, Size: int64(len(content))}
		if f.Mode.IsDir() {
			header.Name, header.Typeflag, header.Size = header.Name+"/", tar.TypeDir, 0
		}
		if err := errors.Join(w.WriteHeader(header), write(w, content)); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil { // which writes the end of the last file, and that of the archive
		return nil, err
	}
	return out.Bytes(), nil
}

func write(w *tar.Writer, content []byte) error {
	_, err := w.Write(content)
	return err
}

// tarMode is the mode as tar writes it, where the sticky bit is another one than in fs.FileMode.
func tarMode(m fs.FileMode) int64 {
	mode := int64(m.Perm())
	if m&fs.ModeSticky != 0 {
		mode |= 0o1000
	}
	return mode
}

// WriteTree puts the files below root, an empty or missing folder of this machine, with the modes they have in an image.
func WriteTree(root string, files []File) error {
	sorted, err := withFolders(files)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for _, f := range sorted {
		to := filepath.Join(root, filepath.FromSlash(f.Path))
		if f.Mode.IsDir() {
			err = os.Mkdir(to, 0o700)
		} else {
			var content []byte
			if content, err = f.read(); err == nil {
				err = os.WriteFile(to, content, 0o600)
			}
		}
		// The process's umask has no say in the mode.
		if err = errors.Join(err, os.Chmod(to, f.Mode.Perm()|f.Mode&fs.ModeSticky)); err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	return nil
}
