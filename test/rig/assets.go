package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// ErrNoAssets says that a program of the control plane was not found.
var ErrNoAssets = errors.New("control plane not built")

var moduleLine = regexp.MustCompile(`(?m)^module github\.com/dogear-dev/dogear$`)

// Binary returns the path of the program called name ("etcd", "kubectl", ...).
// It looks into KUBEBUILDER_ASSETS, then AssetsDir. The error is ErrNoAssets,
// with what to do about it.
func Binary(name string) (string, error) {
	dirs := []string{}
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		dirs = append(dirs, dir)
	}
	if dir, err := AssetsDir(); err == nil {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: no %q in %q: run 'make controlplane' or set KUBEBUILDER_ASSETS", ErrNoAssets, name, dirs)
}

// AssetsDir returns the folder that holds the built programs and fetched CRDs:
// DOGEAR_ASSETS if set, else bin/ of the repository around the working
// directory. The error is ErrNoAssets; the folder need not exist.
func AssetsDir() (string, error) {
	if dir := os.Getenv("DOGEAR_ASSETS"); dir != "" {
		return dir, nil
	}
	root, err := RepositoryRoot()
	if err != nil {
		return "", fmt.Errorf("%w: %w: set DOGEAR_ASSETS to the folder that 'make controlplane' filled", ErrNoAssets, err)
	}
	return filepath.Join(root, "bin"), nil
}

// RepositoryRoot returns the folder of Dogear's go.mod, going up from the
// working directory.
func RepositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && moduleLine.Match(text) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("working directory is not inside the repository of dogear")
		}
		dir = parent
	}
}
