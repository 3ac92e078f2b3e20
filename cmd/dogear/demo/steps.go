package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/rig"
)

// pollPause is the time between two looks at something that is awaited.
const pollPause = 50 * time.Millisecond

func (d *demo) startControlPlane(ctx context.Context, options rig.Options) (string, error) {
	options.Dir = filepath.Join(d.dir, "control-plane")
	cp, err := rig.Start(ctx, options)
	if err != nil {
		return "", err
	}
	d.cp = cp
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return "", err
		}
	}
	if d.admin, err = client.New(cp.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		return "", err
	}
	return "etcd and kube-apiserver at " + d.cp.URL(), d.cp.Kubeconfig(d.adminKubeconfig())
}

func (d *demo) installCRDs(ctx context.Context) (string, error) {
	crds, err := rig.CertManagerCRDs()
	if err != nil {
		return "", err
	}
	own, err := rig.DogearCRDs()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of cert-manager, unchanged; %d of Dogear", len(crds), len(own)), d.cp.InstallCRDs(ctx, append(crds, own...)...)
}

// startService starts controller and webhook, each as a process with a
// ServiceAccount of its own.
func (d *demo) startService(ctx context.Context, died context.CancelCauseFunc) (string, error) {
	for _, namespace := range []string{hooksNamespace, objectsNamespace} {
		if err := d.makeNamespace(ctx, namespace); err != nil {
			return "", err
		}
	}
	var addresses [2]string
	for i := range addresses {
		var err error
		if addresses[i], err = rig.FreeAddress(); err != nil {
			return "", err
		}
	}
	d.metrics = addresses[1]
	common := []string{
		"run", "--namespace=" + systemNamespace, "--leader-elect=false", "--health-address=",
		"--webhook-address=" + addresses[0], "--webhook-url=https://" + addresses[0], "--webhook-lame-duck=0s",
		"--webhook-controller-users=" + accountUser(systemNamespace, controllerName),
	}
	var pids []any
	for _, part := range []struct {
		name, metrics string
		rights        rig.Rights
	}{{controllerName, d.metrics, controllerRights()}, {webhookName, "", webhookRights()}} {
		if _, err := d.account(ctx, systemNamespace, part.name, part.rights); err != nil {
			return "", err
		}
		args := append(slices.Clone(common), "--roles="+part.name, "--metrics-address="+part.metrics, "--kubeconfig="+d.kubeconfig(part.name))
		p, err := d.spawn(part.name, part.name+".log", nil, args, died)
		if err != nil {
			return "", err
		}
		pids = append(pids, p.cmd.Process.Pid)
	}
	return fmt.Sprintf("controller (process %d), webhook (%d)", pids...), nil
}

func (d *demo) makeNamespace(ctx context.Context, name string) error {
	err := d.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return client.IgnoreAlreadyExists(err)
}

// makeUser makes the ordinary user, and begins to look at objects as that one.
func (d *demo) makeUser(ctx, life context.Context) (string, error) {
	config, err := d.account(ctx, objectsNamespace, userName, userRights())
	if err != nil {
		return "", err
	}
	if d.alice, err = client.New(config, client.Options{}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, with rights in namespace %q", userName, objectsNamespace), d.follow(life, config)
}

// awaitAdmission waits until the webhook is called and answers.
func (d *demo) awaitAdmission(ctx context.Context) (string, error) {
	for {
		last := d.probe(ctx)
		if last == nil {
			break
		}
		if err := sleep(ctx, pollPause); err != nil {
			return "", fmt.Errorf("%w; last: %w", err, last)
		}
	}
	var err error
	d.before, err = d.cp.SettledRequests(ctx, rig.Match{Verb: "PATCH"})
	return "the webhook stamps and sets defaults", err
}
