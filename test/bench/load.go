package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

// load is what one round does with a contender's objects.
type load struct {
	// prepare runs before the measured part.
	prepare func(context.Context, *turn) error
	// run is measured.
	run func(context.Context, *turn) error
	// direct is the same for the ceiling: all that is to happen to one object.
	direct func(context.Context, *turn, int) error
	// ends is what the last object has to reach: handled, or gone.
	ends int
	// own is the number of the driver's own changes to each object.
	own int
}

// turn is one round of one contender.
type turn struct {
	*bench
	contender string
	namespace string
	round     int
	n         int
	rate      float64 // objects a second; 0: as fast as can be
	observer  *observer
	asked     []atomic.Int64 // Unix nanoseconds of the answer to the request that makes an object due
}

// arrive has every object made due, at the rate of the turn.
func (t *turn) arrive(ctx context.Context, do func(context.Context, int) error) error {
	timed := func(ctx context.Context, i int) error {
		err := do(ctx, i)
		t.asked[i].Store(time.Now().UnixNano())
		return err
	}
	if t.rate > 0 {
		return paced(ctx, t.n, t.rate, timed)
	}
	return each(ctx, t.n, workers, timed)
}

func (t *turn) create(ctx context.Context, i int) error {
	return t.bench.create(ctx, subjectOf(t.contender), i)
}

func (t *turn) change(ctx context.Context, i int) error {
	return t.bench.change(ctx, t.namespace, i, t.round+1)
}

// note is what the ceiling writes in place of an operator.
func (t *turn) note(ctx context.Context, i int, more string) error {
	return t.patch(ctx, t.namespace, i, `{"metadata":{"annotations":{"`+subject.BareHandled+`":"1"}`+more+`}}`)
}

// settle creates the objects and waits until they are handled.
func (t *turn) settle(ctx context.Context) error {
	if t.contender == ceiling {
		return each(ctx, t.n, workers, t.create)
	}
	o, err := t.observe(ctx, t.contender, 0, t.n)
	if err != nil {
		return err
	}
	defer o.stop()
	if err := each(ctx, t.n, workers, t.create); err != nil {
		return err
	}
	return o.wait(ctx, whenHandled)
}

var createLoad = load{
	run: func(ctx context.Context, t *turn) error {
		if err := t.arrive(ctx, t.create); err != nil {
			return err
		}
		return t.observer.wait(ctx, whenHandled)
	},
	direct: func(ctx context.Context, t *turn, i int) error {
		return errors.Join(t.create(ctx, i), t.note(ctx, i, ""))
	},
	ends: whenHandled,
}

var updateLoad = load{
	prepare: func(ctx context.Context, t *turn) error { return t.settle(ctx) },
	run: func(ctx context.Context, t *turn) error {
		if err := t.arrive(ctx, t.change); err != nil {
			return err
		}
		return t.observer.wait(ctx, whenHandled)
	},
	direct: func(ctx context.Context, t *turn, i int) error {
		return errors.Join(t.change(ctx, i), t.note(ctx, i, ""))
	},
	ends: whenHandled,
	own:  1,
}

var retryLoad = load{
	run: func(ctx context.Context, t *turn) error {
		if err := createLoad.run(ctx, t); err != nil {
			return err
		}
		err := each(ctx, t.n, workers, func(ctx context.Context, i int) error { return t.delete(ctx, t.namespace, i) })
		return errors.Join(err, t.observer.wait(ctx, whenGone))
	},
	direct: func(ctx context.Context, t *turn, i int) error {
		return errors.Join(
			t.create(ctx, i),
			t.note(ctx, i, `,"finalizers":["ceiling.bench.example.com/finalizer"]`),
			t.note(ctx, i, `,"labels":{"attempt":"2"}`),
			t.note(ctx, i, `,"labels":{"attempt":"3"}`),
			t.delete(ctx, t.namespace, i),
			t.note(ctx, i, `,"finalizers":null`),
		)
	},
	ends: whenGone,
}
