package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/node"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

const (
	// image is the chart's, whatever the tag.
	image = "ghcr.io/dogear-dev/dogear"
	// current is the tag of the chart's own release.
	current = "v0.1.0"
	// before is the tag of the release before.
	before = "v0.0.9"
	// beforeCommit is what the release before was built from: the last state
	// that had no chart.
	beforeCommit = "de1afe2cb71e372c8fb8d50a4e6f255d848b503d"
)

var shared struct {
	node sync.Once
	n    *node.Node
	err  error

	previous    sync.Once
	previousErr error
}

// theNode runs the Pods of all tests, which take turns.
func theNode(t testing.TB) *node.Node {
	t.Helper()
	cp := rigtest.ControlPlane(t)
	shared.node.Do(func() {
		program := filepath.Join(cp.Dir(), "dogear")
		if shared.err = build(".", program, current); shared.err != nil {
			return
		}
		shared.n, shared.err = node.Start(t.Context(), cp, node.Options{
			Images:     map[string]string{image: program, image + ":" + before: previousProgram(cp)},
			ProxyDelay: time.Second, // as news of endpoints take on real nodes
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.n
}

func previousProgram(cp *rig.ControlPlane) string { return filepath.Join(cp.Dir(), "dogear-before") }

// buildPrevious makes the program of the release before, which Pods with its
// tag run. In a clone without the history the test is skipped.
func buildPrevious(t testing.TB) {
	t.Helper()
	cp := rigtest.ControlPlane(t)
	root, err := rig.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("git", "-C", root, "cat-file", "-e", beforeCommit+"^{commit}").Run(); err != nil {
		t.Skipf("this clone lacks the commit %.7s from which the release before is built: fetch the history (git fetch --unshallow)", beforeCommit)
	}
	shared.previous.Do(func() {
		source := filepath.Join(cp.Dir(), "before")
		shared.previousErr = os.MkdirAll(source, 0o700)
		if shared.previousErr == nil {
			archive := exec.Command("sh", "-c", `git -C "$1" archive "$2" | tar -x -C "$3"`, "sh", root, beforeCommit, source)
			if out, err := archive.CombinedOutput(); err != nil {
				shared.previousErr = fmt.Errorf("unpack the release before: %w: %s", err, out)
			}
		}
		if shared.previousErr == nil {
			shared.previousErr = build(source, previousProgram(cp), before)
		}
	})
	if shared.previousErr != nil {
		t.Fatal(shared.previousErr)
	}
}

// build builds the program of the module around folder, as a release would.
func build(folder, program, version string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", program, "github.com/dogear-dev/dogear/cmd/dogear")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", version, err, out)
	}
	return nil
}

// runProgram runs a subcommand as the administrator.
func runProgram(ctx context.Context, cp *rig.ControlPlane, args ...string) (string, error) {
	kubeconfig := filepath.Join(cp.Dir(), "test.kubeconfig")
	if err := cp.Kubeconfig(kubeconfig); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(cp.Dir(), "dogear"), args...)
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
