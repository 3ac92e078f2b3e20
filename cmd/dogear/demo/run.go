package demo

import (
	"context"
	"errors"
	"fmt"
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
	admin   client.Client
	alice   client.Client
	board   *board
	metrics string // where the controller serves them

	before    rig.Requests // made when the user began
	defaulted string       // what admission filled in

	processes []*process
	running   sync.WaitGroup
}

// errTimeout is the cause of a context that Options.Timeout has ended.
var errTimeout = errors.New("not ready yet")

// errDied is in the chain of a cause when a process has ended.
var errDied = errors.New("ended before its time")

// Run runs the demo. It fails with ErrUnexpected where an object did not end as
// expected, and with the cause of ctx where that has ended, unless the demo was
// only kept.
func Run(ctx context.Context, options Options) (err error) {
	options = options.withDefaults()
	d := &demo{options: options, begin: time.Now(), board: newBoard(storage.ServicePrefix)}
	if d.dir, err = makeDir(options.Dir); err != nil {
		return err
	}
	d.view = newView(options, d.begin)
	defer func() { err = d.tidy(ctx, err) }()
	life, cancel := context.WithCancelCause(ctx)
	defer d.stop(cancel)

	if options.Bare {
		return d.bare(life)
	}
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

// step is one of the start.
type step struct {
	name string
	do   func() (string, error)
}

// play goes through all steps, within the time that there is.
func (d *demo) play(life context.Context, cancel context.CancelCauseFunc) error {
	ctx, done := context.WithTimeoutCause(life, d.options.Timeout, errTimeout)
	defer done()
	steps := []step{
		{"control plane", func() (string, error) { return d.startControlPlane(ctx, rig.Options{}) }},
		{"CRDs", func() (string, error) { return d.installCRDs(ctx) }},
		{"user", func() (string, error) { return d.makeUser(ctx, life) }},
		{"Dogear", func() (string, error) { return d.startService(ctx, cancel) }},
		{"endpoints", func() (string, error) { return d.startEndpoints(ctx, cancel) }},
		{"handler sets", func() (string, error) { return d.applySets(ctx) }},
		{"admission", func() (string, error) { return d.awaitAdmission(ctx) }},
	}
	if err := d.take(ctx, steps); err != nil {
		return err
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

// take goes through steps until ctx ends.
func (d *demo) take(ctx context.Context, steps []step) error {
	for _, step := range steps {
		if err := d.view.step(step.name, step.do); err != nil {
			if errors.Is(context.Cause(ctx), errTimeout) && !errors.Is(err, errTimeout) {
				err = errTimeout // what it has ended says nothing
			}
			return d.explain(ctx, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	return nil
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
		_, _ = fmt.Fprintln(d.options.Stdout, "\nEnding Dogear, the endpoints and the control plane.")
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
	for _, p := range d.processes {
		p.stop()
	}
	d.running.Wait()
	if d.cp != nil {
		_ = d.cp.Stop() // kills; what is left is a folder
	}
}
