package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dogear-dev/dogear/test/rig"
)

// bare starts a control plane for people who want to try things by themselves,
// and leaves it running until life ends.
func (d *demo) bare(life context.Context) error {
	if err := d.startBare(life); err != nil {
		if life.Err() != nil {
			return context.Cause(life)
		}
		return err
	}
	d.view.end()
	lines := []string{"", "A cluster without nodes, for you alone, until Ctrl-C. In another terminal:"}
	for _, command := range d.environmentCommands() {
		lines = append(lines, "  "+command)
	}
	for _, line := range lines {
		_, _ = fmt.Fprintln(d.options.Stdout, line)
	}
	<-life.Done()
	_, _ = fmt.Fprintln(d.options.Stdout, "\nEnding the control plane.")
	return nil
}

func (d *demo) startBare(life context.Context) error {
	ctx, done := context.WithTimeoutCause(life, d.options.Timeout, errTimeout)
	defer done()
	return d.take(ctx, []step{
		{"control plane", func() (string, error) {
			return d.startControlPlane(ctx, rig.Options{ControllerManager: true})
		}},
		{"CRDs", func() (string, error) {
			crds, err := rig.CertManagerCRDs()
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d of cert-manager", len(crds)), d.cp.InstallCRDs(ctx, crds...)
		}},
	})
}

// environmentCommands let a shell find the control plane, and the programs.
func (d *demo) environmentCommands() []string {
	commands := []string{"export KUBECONFIG=" + d.adminKubeconfig()}
	kubectl, err := rig.Binary("kubectl")
	if err != nil {
		return commands
	}
	folders := filepath.Dir(kubectl)
	if own, err := os.Executable(); err == nil && filepath.Dir(own) != folders {
		folders += string(filepath.ListSeparator) + filepath.Dir(own)
	}
	return append(commands, "export PATH="+folders+":$PATH")
}
