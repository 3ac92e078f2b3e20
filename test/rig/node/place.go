package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// current is the link to the folder of the files that count. Each file is a
// link through it, so that renaming this one link changes all files at once,
// and nobody reads a certificate with the key of another.
const current = "..data"

// place makes files the content of folder, in place of those before.
func place(folder string, files map[string]file) error {
	link := filepath.Join(folder, current)
	old, err := os.Readlink(link)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fresh, err := os.MkdirTemp(folder, "..")
	if err != nil {
		return err
	}
	for name, file := range files {
		path := filepath.Join(fresh, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, file.data, file.mode)); err != nil {
			return err
		}
		if err := os.Chmod(path, file.mode); err != nil { // whatever the umask
			return err
		}
	}
	if err := os.Symlink(filepath.Base(fresh), link+".new"); err != nil {
		return err
	}
	if err := os.Rename(link+".new", link); err != nil {
		return err
	}
	if err := links(folder, files); err != nil || old == "" {
		return err
	}
	return os.RemoveAll(filepath.Join(folder, old))
}

// links has one link for each first part of a path, and no other.
func links(folder string, files map[string]file) error {
	wanted := map[string]bool{}
	for name := range files {
		first, _, _ := strings.Cut(name, "/")
		wanted[first] = true
		err := os.Symlink(filepath.Join(current, first), filepath.Join(folder, first))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); !wanted[name] && !strings.HasPrefix(name, "..") {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return fmt.Errorf("remove what is no longer in the volume: %w", err)
			}
		}
	}
	return nil
}
