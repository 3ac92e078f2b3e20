package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// tidy removes the folder that nobody asked for, unless something went wrong,
// and then tells where the logs are.
func (d *demo) tidy(ctx context.Context, err error) error {
	interrupted := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if d.options.Dir == "" && (err == nil || interrupted || d.cp == nil) {
		return errors.Join(err, os.RemoveAll(d.dir))
	}
	if err == nil || interrupted {
		return err
	}
	return fmt.Errorf("%w\nlogs: %s", err, d.dir)
}

func makeDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "dogear-demo-")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("--dir: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("--dir: %w", err)
	}
	if entries, err := os.ReadDir(dir); err != nil {
		return "", fmt.Errorf("--dir: %w", err)
	} else if len(entries) > 0 {
		return "", fmt.Errorf("--dir %q is not empty: name a new folder", dir)
	}
	return dir, nil
}

func (d *demo) adminKubeconfig() string { return filepath.Join(d.dir, "kubeconfig") }
