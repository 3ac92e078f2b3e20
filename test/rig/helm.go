package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Helm runs helm as the administrator and returns what it printed. Its caches
// and settings are in the folder of the control plane, and nothing of the
// user's environment but PATH gets to it. When ctx ends it is interrupted, as
// by Ctrl-C, and killed 5 s later. The error holds the end of what helm wrote
// to stderr.
func (cp *ControlPlane) Helm(ctx context.Context, args ...string) (string, error) {
	path, err := Binary("helm")
	if err != nil {
		return "", err
	}
	home := filepath.Join(cp.dir, "helm")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	kubeconfig := filepath.Join(home, "kubeconfig")
	if err := cp.Kubeconfig(kubeconfig); err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "KUBECONFIG=" + kubeconfig,
		"HELM_CACHE_HOME=" + filepath.Join(home, "cache"),
		"HELM_CONFIG_HOME=" + filepath.Join(home, "config"),
		"HELM_DATA_HOME=" + filepath.Join(home, "data"),
	}
	if err := Spawn(cmd); err != nil {
		return "", fmt.Errorf("start helm: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
		time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
	})()
	if err := errors.Join(cmd.Wait(), ctx.Err()); err != nil {
		text := strings.TrimSpace(stderr.String())
		return stdout.String(), fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, text[max(0, len(text)-4000):])
	}
	return stdout.String(), nil
}
