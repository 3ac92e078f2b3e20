package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/selection"
)

// duty is what to do for the objects of one kind.
type duty struct {
	set     *selection.Set
	removal Removal
}

// same tells whether nothing is to be done differently.
func (d duty) same(other duty) bool {
	return d.set.Kind == other.set.Kind && slices.EqualFunc(d.set.Handlers, other.set.Handlers, sameHandler) &&
		d.removal.same(other.removal)
}

// sameHandler tells whether two handlers do the same.
func sameHandler(a, b *selection.Handler) bool {
	return a == b || a.Version != nil && a.Version == b.Version && a.Spec.ID == b.Spec.ID
}

// fleet is the kinds that are handled.
type fleet struct {
	mu    sync.Mutex
	kinds map[schema.GroupKind]*running
}

// running is a kind that is handled, or was until lately.
type running struct {
	*kind
	context context.Context //nolint:containedctx // that of all its passes
	stop    context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex
	duty    duty
	changed chan struct{} // closed when duty is another
	cleaned progress
}

// give has a kind do something else from now on.
func (r *running) give(d duty) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.duty.same(d) {
		return
	}
	r.duty = d
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *running) todo() (duty, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.duty, r.changed
}

func (r *running) stopped() bool { return r.context.Err() != nil }

// runKinds starts, changes and stops kinds as they are declared, until ctx ends.
// Handlers run until handling ends.
func (op *Operator) runKinds(ctx, handling context.Context, late func()) error {
	group, ctx := errgroup.WithContext(ctx)
	for ctx.Err() == nil {
		now, changed := op.current()
		if err := op.enterLedger(ctx, now.sets); err != nil {
			if !op.options.Declared || ctx.Err() != nil {
				return ignoreEnd(ctx, err)
			}
			op.options.Log.Error(err, "What has changed comes into force later, will retry")
			if !op.pause(ctx, watchPause) {
				return nil
			}
			continue
		}
		op.fleet.mu.Lock()
		duties := now.duties()
		for name, r := range op.fleet.kinds {
			d, ok := duties[name]
			switch {
			case r.stopped():
			case !ok:
				r.stop()
				group.Go(func() error { op.releaseLate(ctx, r.gvk); return nil })
			case d.set.Kind != r.gvk: // another version of the same objects
				r.stop()
			}
		}
		for name, d := range duties {
			before := op.fleet.kinds[name]
			if before != nil && !before.stopped() {
				before.give(d)
				continue
			}
			r := op.newRunning(ctx, handling, d)
			op.fleet.kinds[name] = r
			group.Go(func() error {
				defer close(r.ended)
				if before != nil {
					<-before.ended
				}
				return op.watch(r.context, r, late)
			})
		}
		op.fleet.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return group.Wait()
}

// pause waits, and tells whether ctx goes on.
func (op *Operator) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-op.options.Clock.After(d):
		return true
	}
}

func (op *Operator) newRunning(ctx, handling context.Context, d duty) *running {
	r := &running{kind: op.newKind(d.set.Kind), ended: make(chan struct{}), duty: d, changed: make(chan struct{})}
	var stop, end context.CancelFunc
	r.context, stop = context.WithCancel(ctx)
	r.handling, end = context.WithCancel(handling)
	r.stop = func() { stop(); end() }
	return r
}
