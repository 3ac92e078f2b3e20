package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig"
)

// demo is one run.
type demo struct {
	options Options
	begin   time.Time
	view    view
	dir     string
	cp      *rig.ControlPlane
	alice   client.Client
	board   *board
	metrics string // where the controller serves them

	before    rig.Requests // made when the user began
	defaulted string       // what admission filled in

	operators []*process
	running   sync.WaitGroup
}

// errTimeout is the cause of a context that Options.Timeout has ended.
var errTimeout = errors.New("not ready yet")

// errDied is in the chain of a cause when a part of the operator has ended.
var errDied = errors.New("ended before its time")

// Run runs the demo. It fails with ErrUnexpected where an object did not end as
// expected, and with the cause of ctx where that has ended, unless the demo was
// only kept.
func Run(ctx context.Context, options Options) (err error) {
	options = options.withDefaults()
	prefix, err := storage.PrefixFor(options.domain())
	if err != nil {
		return err
	}
	d := &demo{options: options, begin: time.Now(), board: newBoard(prefix)}
	if d.dir, err = makeDir(options.Dir); err != nil {
		return err
	}
	d.view = newView(options, d.begin)
	defer func() { err = d.tidy(ctx, err) }()
	life, cancel := context.WithCancelCause(ctx)
	defer d.stop(cancel)

	played := d.play(life, cancel)
	if life.Err() != nil {
		return context.Cause(life)
	}
	if err := d.report(life, played); err != nil {
		return errors.Join(played, err)
	}
	if options.Keep && d.before != nil {
		return d.keep(life, played)
	}
	return played
}

// play goes through all steps, within the time that there is.
func (d *demo) play(life context.Context, cancel context.CancelCauseFunc) error {
	ctx, done := context.WithTimeoutCause(life, d.options.Timeout, errTimeout)
	defer done()
	for _, step := range []struct {
		name string
		do   func() (string, error)
	}{
		{"control plane", func() (string, error) { return d.startControlPlane(ctx) }},
		{"CRDs", func() (string, error) { return d.installCRDs(ctx) }},
		{"user", func() (string, error) { return d.makeUser(ctx, life) }},
		{"operator", func() (string, error) { return d.startOperators(ctx, cancel) }},
		{"admission", func() (string, error) { return d.awaitAdmission(ctx) }},
	} {
		if err := d.view.step(step.name, step.do); err != nil {
			if errors.Is(context.Cause(ctx), errTimeout) {
				err = errTimeout
			}
			return d.explain(ctx, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	d.view.live(d.board)
	err := d.perform(ctx)
	if err == nil {
		err = d.await(ctx, func(objects []object) bool {
			open, _ := judge(objects, d.options.Expected)
			return len(open) == 0
		})
	}
	if err != nil && !errors.Is(err, errTimeout) {
		return err
	}
	return d.explain(ctx, d.verdict())
}

// verdict is nil if everything is as expected.
func (d *demo) verdict() error {
	objects, _ := d.board.look()
	open, wrong := judge(objects, d.options.Expected)
	if d.defaulted == "" {
		wrong = append(wrong, "Certificate/shop: admission set no spec.secretName")
	}
	if len(open)+len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w:\n  %s", ErrUnexpected, strings.Join(append(wrong, open...), "\n  "))
}

// explain tells of the end of the time what it means.
func (d *demo) explain(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errTimeout) {
		return err
	}
	return fmt.Errorf("not done within %s (see --timeout): %w", d.options.Timeout, err)
}

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

// await waits until the board is as wanted.
func (d *demo) await(ctx context.Context, wanted func([]object) bool) error {
	for {
		objects, changed := d.board.look()
		if wanted(objects) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (d *demo) say(format string, args ...any) { d.view.say(fmt.Sprintf(format, args...)) }

// keep leaves all running until ctx ends, and tells of changes by lines.
func (d *demo) keep(ctx context.Context, played error) error {
	d.view.goOn()
	<-ctx.Done()
	if !d.options.JSON {
		fmt.Fprintln(d.options.Stdout, "\nEnding the operator and the control plane.")
	}
	if cause := context.Cause(ctx); errors.Is(cause, errDied) {
		return cause
	}
	return played
}

// stop ends everything that the demo has started.
func (d *demo) stop(cancel context.CancelCauseFunc) {
	cancel(nil)
	d.view.end()
	for _, p := range d.operators {
		p.stop()
	}
	d.running.Wait()
	if d.cp != nil && d.options.ControlPlane == nil {
		_ = d.cp.Stop() // kills; what is left is a folder
	}
}

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
