package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const dirPrefix = "dogear-rig-"

// dataDir returns dir, made if it is missing, or a new temporary folder.
func dataDir(dir string) (string, error) {
	if dir == "" {
		sweep(os.TempDir())
		return os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return "", errors.Join(fmt.Errorf("use %q for the control plane: it is not an empty folder", dir), err)
	}
	return dir, nil
}

// sweep removes what killed processes left in the temporary folder: the name
// of each data folder tells whose it is.
func sweep(tmp string) {
	found, _ := filepath.Glob(filepath.Join(tmp, dirPrefix+"*")) // the pattern is well-formed
	for _, dir := range found {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		pid, err := strconv.Atoi(owner)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // best effort, another process may sweep too
		}
	}
}
