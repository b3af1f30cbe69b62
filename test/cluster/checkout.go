package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// findCheckout walks up from the working folder to the folder of the product's go.mod.
func findCheckout() (string, error) {
	const line = "module github.com/holdfast-gitops/holdfast"
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if first, _, _ := strings.Cut(string(content), "\n"); err == nil && strings.TrimSpace(first) == line {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no checkout of Holdfast at or above %s: run this from inside one", wd)
		}
	}
}

// checkTools names what the machine lacks. It is never a reason to skip: a test that does not run tests nothing.
func checkTools() error {
	for _, tool := range []string{"go", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing on this machine, install it: %w", tool, err)
		}
	}
	return nil
}
