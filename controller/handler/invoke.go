package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DefaultGrace is how long Invoke waits for a handler that goes on although
// its context has ended.
const DefaultGrace = 10 * time.Second

// ErrAbandoned is in the chain of the error of an attempt that went on for too
// long after its context had ended. Its goroutine may be running still.
var ErrAbandoned = errors.New("the handler does not heed its context and was abandoned")

// errTimeout is the cause of a context that Spec.Timeout has ended.
var errTimeout = errors.New("the attempt's timeout")

// Invoke runs one attempt of a handler; engines call it, and handlertest.
// Handlers' authors have no use for it.
//
// The handler runs in a goroutine of its own with a context that ends with ctx
// or after Spec.Timeout. Its panic becomes a PanicError, its runtime.Goexit
// ErrExited. A plain error that wraps context.DeadlineExceeded after the
// time-out becomes a temporary error with ReasonTimedOut; a success, or an
// error that is Temporary or Permanent, counts as it is, however late.
//
// A handler that goes on for longer than grace (0: DefaultGrace; negative: not
// at all) after its context has ended is abandoned: the error is temporary,
// wraps ErrAbandoned, and has ReasonTimedOut after a time-out, ReasonAbandoned
// when ctx has ended. done is closed when the handler's goroutine has ended;
// until then the same handler must not be started on the same object.
//
// The handler works on a Patch and Payloads of its own; req.Patch is set once
// it has ended in time. req.Object and req.Old must not change before done.
func Invoke(ctx context.Context, r Registration, req *RawRequest, grace time.Duration) (result Result, err error, done <-chan struct{}) {
	timeout := r.Spec.WithDefaults().Timeout
	attemptCtx, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		attemptCtx, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout)
	}
	defer cancel()

	a := start(attemptCtx, r, req)
	inTime := a.wait(attemptCtx, grace)
	timedOut := errors.Is(context.Cause(attemptCtx), errTimeout)
	switch {
	case !inTime && timedOut:
		return Result{}, timeoutError(timeout, ErrAbandoned), a.done
	case !inTime:
		return Result{}, Temporary("the process stops", Reason(ReasonAbandoned), Because(ErrAbandoned)), a.done
	}
	a.handBack(req)
	if timedOut && !isOwn(a.err) && errors.Is(a.err, context.DeadlineExceeded) {
		return Result{Status: a.result.Status}, timeoutError(timeout, a.err), a.done
	}
	return a.result, a.err, a.done
}

// Interrupted tells whether an attempt counts for nothing, because the context
// that was given to Invoke has ended: at shutdown, or with the lease. It does
// if the error is plain, or the handler was abandoned. A success, a panic and
// an error that is Temporary or Permanent count.
func Interrupted(ctx context.Context, err error) bool {
	if ctx.Err() == nil || err == nil {
		return false
	}
	if errors.Is(err, ErrAbandoned) {
		return examine(err, RetryError).reason == ReasonAbandoned
	}
	var panicked *PanicError
	return !isOwn(err) && !errors.As(err, &panicked)
}

func timeoutError(timeout time.Duration, err error) error {
	return Temporary(fmt.Sprintf("the attempt has timed out after %s", timeout), Reason(ReasonTimedOut), Because(err))
}

// attempt is one run of a handler. The other fields may be read once done is closed.
type attempt struct {
	done   chan struct{}
	req    RawRequest
	result Result
	err    error
}

// start runs the handler on a request of its own: what it does after it was
// abandoned meets nobody.
func start(ctx context.Context, r Registration, req *RawRequest) *attempt {
	a := &attempt{done: make(chan struct{}), req: *req}
	a.req.Patch = req.Patch.clone()
	a.req.Payloads = make(map[string]json.RawMessage, len(req.Payloads))
	for id, payload := range req.Payloads {
		a.req.Payloads[id] = bytes.Clone(payload)
	}
	go a.run(ctx, r)
	return a
}

// run calls the handler. The text of its error is read here, where a typed nil
// pointer in it can panic without harm.
func (a *attempt) run(ctx context.Context, r Registration) {
	defer close(a.done)
	returned := false
	defer func() {
		if value := recover(); value != nil {
			a.result, a.err = Result{}, RecoverPanic(value)
		} else if !returned {
			a.result, a.err = Result{}, ErrExited
		}
	}()
	if a.result, a.err = r.Run(ctx, &a.req); a.err != nil {
		_ = a.err.Error()
		_ = isOwn(a.err)
	}
	returned = true
}

// wait tells whether the handler has ended, at the latest grace after its context.
func (a *attempt) wait(ctx context.Context, grace time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-ctx.Done():
	}
	if grace == 0 {
		grace = DefaultGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-a.done:
		return true
	case <-timer.C:
	}
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// handBack gives the caller the patch of a handler that has ended: a copy, as
// goroutines that it left behind may still hold its own.
func (a *attempt) handBack(req *RawRequest) {
	patch := a.req.Patch.clone()
	if req.Patch == nil {
		req.Patch = patch
	} else {
		*req.Patch = *patch
	}
}
