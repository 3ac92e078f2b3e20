package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
)

func (d *demo) startControlPlane(ctx context.Context) (string, error) {
	if d.cp = d.options.ControlPlane; d.cp == nil {
		cp, err := rig.Start(ctx, rig.Options{Dir: filepath.Join(d.dir, "control-plane")})
		if err != nil {
			return "", err
		}
		d.cp = cp
	}
	return "etcd and kube-apiserver at " + d.cp.URL(), d.cp.Kubeconfig(d.adminKubeconfig())
}

func (d *demo) installCRDs(ctx context.Context) (string, error) {
	crds, err := rig.CertManagerCRDs()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of cert-manager, unchanged", len(crds)), d.cp.InstallCRDs(ctx, crds...)
}

// startOperators starts controller and webhook, each as a process with a
// ServiceAccount of its own.
func (d *demo) startOperators(ctx context.Context, cancel context.CancelCauseFunc) (string, error) {
	o := d.options
	if _, err := d.account(ctx, o.system(), controllerName, o.controllerRights()); err != nil {
		return "", err
	}
	if _, err := d.account(ctx, o.system(), webhookName, o.webhookRights()); err != nil {
		return "", err
	}
	var addresses [3]string
	for i := range addresses {
		var err error
		if addresses[i], err = freeAddress(); err != nil {
			return "", err
		}
	}
	d.metrics = addresses[1]
	var pids []any
	for i, role := range []string{controllerName, webhookName} {
		p, err := d.startOperator(role, addresses[0], addresses[1+i], cancel)
		if err != nil {
			return "", err
		}
		d.operators, pids = append(d.operators, p), append(pids, p.cmd.Process.Pid)
	}
	return fmt.Sprintf("controller (process %d), webhook (%d)", pids...), nil
}

// makeUser makes the ordinary user, and begins to look at objects as that one.
func (d *demo) makeUser(ctx, life context.Context) (string, error) {
	config, err := d.account(ctx, d.options.objects(), userName, d.options.userRights())
	if err != nil {
		return "", err
	}
	if d.alice, err = client.New(config, client.Options{}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, with rights in namespace %q", userName, d.options.objects()), d.follow(life, config)
}

// awaitAdmission waits until the webhook is called and answers.
func (d *demo) awaitAdmission(ctx context.Context) (string, error) {
	for {
		last := d.probe(ctx)
		if last == nil {
			break
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return "", fmt.Errorf("%w; last: %w", err, last)
		}
	}
	var err error
	d.before, err = d.cp.SettledRequests(ctx, rig.Match{Verb: "PATCH"})
	return "the webhook stamps and sets defaults", err
}
