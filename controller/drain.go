package controller

import (
	"context"
	"time"
)

// drainLook is how often a process that ends looks whether it still leads.
const drainLook = 250 * time.Millisecond

// drained returns the context of handlers: it ends Options.DrainPeriod after
// ctx, so that what has begun can end, and at once when the Lease lapses. The
// function gives it up before.
func (op *Operator) drained(ctx context.Context) (context.Context, context.CancelFunc) {
	if op.options.DrainPeriod <= 0 {
		return context.WithCancel(ctx)
	}
	handling, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer end()
		select {
		case <-handling.Done():
			return
		case <-ctx.Done():
		}
		op.options.Log.Info("Stopping: no handler begins any more, and those under way may end", "within", op.options.DrainPeriod.String())
		over := op.options.Clock.After(op.options.DrainPeriod)
		for op.lease.held() {
			select {
			case <-handling.Done():
				return
			case <-over:
				return
			case <-op.options.Clock.After(drainLook):
			}
		}
	}()
	return handling, end
}
