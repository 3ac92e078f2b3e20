package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type run func(ctx context.Context, req *RawRequest) (Result, error)

func registration(timeout time.Duration, fn run) Registration {
	return Registration{Spec: Spec{ID: "h", On: Create, Timeout: timeout}, Run: fn}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func TestInvokeReturnsWhatTheHandlerReturns(t *testing.T) {
	t.Parallel()
	own := Permanent("no such issuer")
	result, err, done := Invoke(t.Context(), registration(0, func(context.Context, *RawRequest) (Result, error) {
		return Result{Status: "x"}, own
	}), &RawRequest{}, 0)
	if result.Status != "x" || err != own || !isClosed(done) {
		t.Errorf("got %v, %v, closed %v: want the handler's own result and error, and done closed", result, err, isClosed(done))
	}
}

func TestInvokeTurnsAPanicIntoAnErrorWithItsStack(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"text":            "boom",
		"error":           errors.New("boom"),
		"permanent error": Permanent("boom"),
		"nil":             nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err, done := Invoke(t.Context(), registration(0, func(context.Context, *RawRequest) (Result, error) {
				explode(value)
				return Result{}, nil
			}), &RawRequest{}, 0)
			var panicked *PanicError
			if !errors.As(err, &panicked) || !isClosed(done) {
				t.Fatalf("got %v: want a PanicError", err)
			}
			if !strings.Contains(string(panicked.Stack), "explode") {
				t.Errorf("the stack does not show where the panic came from:\n%s", panicked.Stack)
			}
			if o := Classify(Result{}, err, RetryError); o.Kind != Retrying || o.Reason != ReasonPanicked {
				t.Errorf("classified as %v, %s: want a plain error", o.Kind, o.Reason)
			}
		})
	}
}

//go:noinline
func explode(value any) { panic(value) }

func TestInvokeTurnsGoexitIntoAPlainError(t *testing.T) {
	t.Parallel()
	_, err, done := Invoke(t.Context(), registration(0, func(context.Context, *RawRequest) (Result, error) {
		runtime.Goexit()
		return Result{}, nil
	}), &RawRequest{}, 0)
	if !errors.Is(err, ErrExited) || !isClosed(done) {
		t.Fatalf("got %v: want ErrExited", err)
	}
	if o := Classify(Result{}, err, FailError); o.Kind != Failed || o.Reason != ReasonExited {
		t.Errorf("classified as %v, %s: want the policy for plain errors", o.Kind, o.Reason)
	}
}

type brittle struct{ text string }

func (b *brittle) Error() string { return b.text }

func TestInvokeSurvivesATypedNilError(t *testing.T) {
	t.Parallel()
	for name, typedNil := range map[string]error{"of the handler's own": (*brittle)(nil), "of this package": (*Error)(nil)} {
		result, err, _ := Invoke(t.Context(), registration(0, func(context.Context, *RawRequest) (Result, error) {
			return Result{}, typedNil
		}), &RawRequest{}, 0)
		if o := Classify(result, err, RetryError); o.Kind != Retrying || o.Reason != ReasonPanicked {
			t.Errorf("%s: got %v, %s: want the error's own panic", name, o.Kind, o.Reason)
		}
	}
}

// late is a handler that returns err when its context has ended.
func late(err func(ctx context.Context) error) run {
	return func(ctx context.Context, _ *RawRequest) (Result, error) {
		<-ctx.Done()
		return Result{Status: "late"}, err(ctx)
	}
}

func TestInvokeTimesAnAttemptOut(t *testing.T) {
	t.Parallel()
	plain := errors.New("disk full")
	for name, test := range map[string]struct {
		err    func(ctx context.Context) error
		kind   OutcomeKind
		reason string
	}{
		"the context's error is a time-out":        {func(ctx context.Context) error { return ctx.Err() }, Retrying, ReasonTimedOut},
		"also wrapped":                             {func(ctx context.Context) error { return fmt.Errorf("dial: %w", ctx.Err()) }, Retrying, ReasonTimedOut},
		"success counts as it is":                  {func(context.Context) error { return nil }, Succeeded, ""},
		"another plain error counts as it is":      {func(context.Context) error { return plain }, Failed, ReasonError},
		"a permanent error counts as it is":        {func(context.Context) error { return Permanent("no", Reason("Own")) }, Failed, "Own"},
		"a temporary error counts with its reason": {func(ctx context.Context) error { return Temporary("no", Reason("Own"), Because(ctx.Err())) }, Retrying, "Own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				result, err, done := Invoke(t.Context(), registration(time.Minute, late(test.err)), &RawRequest{}, 0)
				if took := time.Since(began); took != time.Minute || !isClosed(done) {
					t.Errorf("took %s: want the timeout of 1m", took)
				}
				if o := Classify(result, err, FailError); o.Kind != test.kind || o.Reason != test.reason {
					t.Errorf("got %v, %q (%v): want %v, %q", o.Kind, o.Reason, err, test.kind, test.reason)
				}
			})
		})
	}
}

func TestInvokeAppliesTheDefaultTimeoutAndNoneIfNegative(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]time.Duration{0: DefaultTimeout, time.Second: time.Second, -1: time.Hour} {
		t.Run(timeout.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				_, err, _ := Invoke(ctx, registration(timeout, late(context.Context.Err)), &RawRequest{}, 0)
				if took := time.Since(began); took != want {
					t.Errorf("the context ended after %s: want %s", took, want)
				}
				if o := Classify(Result{}, err, RetryError); (o.Reason == ReasonTimedOut) != (timeout >= 0) {
					t.Errorf("reason %q: only the attempt's own timeout is a time-out", o.Reason)
				}
			})
		})
	}
}

// deaf is a handler that ignores its context.
func deaf(takes time.Duration) run {
	return func(_ context.Context, req *RawRequest) (Result, error) {
		time.Sleep(takes)
		req.Patch.SetLabel("late", "true")
		req.Payloads["h"] = json.RawMessage(`"late"`)
		return Result{Status: "late"}, nil
	}
}

func TestInvokeAbandonsAHandlerThatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		req := &RawRequest{Info: Info{Patch: &Patch{}, Payloads: map[string]json.RawMessage{}}}
		began := time.Now()
		result, err, done := Invoke(t.Context(), registration(time.Minute, deaf(time.Hour)), req, 0)
		if took := time.Since(began); took != time.Minute+DefaultGrace {
			t.Errorf("gave up after %s: want timeout and grace", took)
		}
		o := Classify(result, err, FailError)
		if !errors.Is(err, ErrAbandoned) || o.Kind != Retrying || o.Reason != ReasonTimedOut || o.Payload != nil {
			t.Errorf("got %+v: want a temporary %s", o, ReasonTimedOut)
		}
		if isClosed(done) {
			t.Error("done is closed, but the handler is still running")
		}
		<-done
		if took := time.Since(began); took != time.Hour {
			t.Errorf("done was closed after %s: want when the handler has ended", took)
		}
		if !req.Patch.IsEmpty() || len(req.Payloads) != 0 {
			t.Error("what the handler did after it was abandoned reached the caller's request")
		}
	})
}

func TestInvokeWaitsForGraceOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		grace     time.Duration
		takes     time.Duration
		abandoned bool
	}{
		"ended within the grace":       {20 * time.Second, 75 * time.Second, false},
		"grace of the caller":          {20 * time.Second, 85 * time.Second, true},
		"no grace, ended in time":      {-1, 59 * time.Second, false},
		"no grace, not ended in time":  {-1, 61 * time.Second, true},
		"default grace, ended in time": {0, 69 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				req := &RawRequest{}
				result, err, done := Invoke(t.Context(), registration(time.Minute, deaf(test.takes)), req, test.grace)
				if got := errors.Is(err, ErrAbandoned); got != test.abandoned || got == isClosed(done) {
					t.Errorf("abandoned: %v (%v), done closed: %v: want abandoned %v", got, err, isClosed(done), test.abandoned)
				}
				if !test.abandoned && (result.Status != "late" || req.Patch.IsEmpty()) {
					t.Errorf("got %v: want the late success and its patch", result)
				}
				<-done
			})
		})
	}
}

func TestInterruptedTellsWhatCountsForNothingAtShutdown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  func(ctx context.Context) error
		want bool
	}{
		"the context's error":             {func(ctx context.Context) error { return fmt.Errorf("dial: %w", ctx.Err()) }, true},
		"any plain error":                 {func(context.Context) error { return errors.New("rpc: canceled") }, true},
		"success counts":                  {func(context.Context) error { return nil }, false},
		"a panic counts":                  {func(context.Context) error { panic("boom") }, false},
		"a temporary error counts":        {func(ctx context.Context) error { return Temporary("later", Because(ctx.Err())) }, false},
		"a permanent error counts":        {func(context.Context) error { return Permanent("never") }, false},
		"a handler that goes on for long": {func(context.Context) error { time.Sleep(time.Hour); return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				_, err, done := Invoke(ctx, registration(0, late(test.err)), &RawRequest{}, 0)
				if got := Interrupted(ctx, err); got != test.want {
					t.Errorf("Interrupted(%v) is %v: want %v", err, got, test.want)
				}
				if Interrupted(t.Context(), err) {
					t.Error("interrupted, though the context goes on")
				}
				<-done
			})
		})
	}
}

func TestATimeOutIsNoInterruptionThoughTheProcessStopsMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer cancel()
		_, err, done := Invoke(ctx, registration(time.Minute, deaf(time.Hour)), &RawRequest{}, 0)
		if ctx.Err() == nil || Interrupted(ctx, err) {
			t.Errorf("interrupted by %v: the attempt had timed out before", err)
		}
		<-done
	})
}

func TestInvokeGivesTheHandlerAPatchAndReturnsIt(t *testing.T) {
	t.Parallel()
	label := func(_ context.Context, req *RawRequest) (Result, error) {
		req.Patch.SetLabel("a", "1")
		return Result{}, errors.New("failed")
	}
	mine := &Patch{}
	mine.SetLabel("b", "2")
	for name, req := range map[string]*RawRequest{
		"none given": {},
		"given":      {Info: Info{Patch: mine}},
	} {
		_, _, _ = Invoke(t.Context(), registration(0, label), req, 0)
		merge, err := req.Patch.MergePatch()
		if text := fmt.Sprint(merge); err != nil || !strings.Contains(text, "a:1") {
			t.Errorf("%s: the patch is %v (%v): want the handler's label", name, text, err)
		}
	}
	if _, ok := mine.labels["a"]; !ok || len(mine.labels) != 2 {
		t.Errorf("the caller's own patch has %v: want both labels", mine.labels)
	}
}
