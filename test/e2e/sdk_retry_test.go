package e2e

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/handler"
)

// ended checks how the only handler of an object stands.
func (b *bench) ended(u *unstructured.Unstructured, state, reason string) fields {
	b.Helper()
	r := b.record(b.await(u, state), "myapp")
	if r["reason"] != reason {
		b.Errorf("the reason is %v, want %s: %v", r["reason"], reason, r)
	}
	return r
}

func TestSDKRetryLimitEndsInFailureUntilAPersonAsks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	spec := b.spec(testKind("Widget"), "myapp", handler.Create)
	spec.Retry = handler.Retry{Limit: 3, Initial: 10 * time.Millisecond}
	b.start(one(spec, func(_ context.Context, req *request) (handler.Result, error) {
		if seen.add(req.Info) == 5 {
			return handler.Result{}, nil
		}
		return handler.Result{}, errors.New("no luck")
	}))
	u := b.create(b.widget("one"))
	b.ended(u, "Failed", "RetryLimitReached")
	b.stays(u, &seen, 3)
	b.awaitOneEvent(u, "HandlerFailed")
	b.awaitOneEvent(u, "HandlerRetrying")
	b.patch(u, `{"metadata":{"annotations":{"`+b.key("retry")+`":"myapp"}}}`)
	all := b.awaitCalls(&seen, 5)
	u = b.await(u, "Succeeded")
	if text, ok := u.GetAnnotations()[b.key("retry")]; ok {
		t.Errorf("the annotation that asked is still there: %q", text)
	}
	for i, info := range all {
		if want := i%3 + 1; info.Attempt != want || info.LastAttempt != (want == 3) {
			t.Errorf("call %d is attempt %d, last %v", i+1, info.Attempt, info.LastAttempt)
		}
	}
}

func TestSDKRetryTimeoutCountsFromTheFirstAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	spec := b.spec(testKind("Widget"), "myapp", handler.Create)
	spec.Retry = handler.Retry{Timeout: 700 * time.Millisecond, Initial: 200 * time.Millisecond, Factor: 1}
	operator := b.start(one(spec, func(_ context.Context, req *request) (handler.Result, error) {
		seen.add(req.Info)
		return handler.Result{}, errors.New("no luck")
	}))
	u := b.create(b.widget("one"))
	b.ended(u, "Failed", "TimedOut")
	all := seen.all()
	if n := len(all); n < 2 || n > 4 {
		t.Errorf("%d attempts, want 2 to 4", n)
	}
	for _, info := range all {
		if info.Started.Sub(all[0].Started).Abs() > time.Second || info.Deadline.Sub(info.Started) != 700*time.Millisecond {
			t.Errorf("started %s, until %s; the first one %s", info.Started, info.Deadline, all[0].Started)
		}
	}
	operator.stop()
}

func TestSDKRetryBackOffGrows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	spec := b.spec(testKind("Widget"), "myapp", handler.Create)
	spec.Retry = handler.Retry{Initial: 100 * time.Millisecond, Factor: 3, Max: 500 * time.Millisecond, Limit: 5}
	var mu sync.Mutex
	var at []time.Time
	b.start(one(spec, func(context.Context, *request) (handler.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
		return handler.Result{}, errors.New("no luck")
	}))
	b.ended(b.create(b.widget("one")), "Failed", "RetryLimitReached")
	mu.Lock()
	defer mu.Unlock()
	for i, want := range []time.Duration{100, 300, 500, 500} {
		want *= time.Millisecond
		if gap := at[i+1].Sub(at[i]); gap < want || gap > want*11/10+2*time.Second {
			t.Errorf("pause %d took %s, want %s and up to a tenth more", i+1, gap, want)
		}
	}
}

func TestSDKWaitingUsesNoAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	spec := b.spec(testKind("Widget"), "myapp", handler.Create)
	spec.Retry.Limit = 1
	b.start(one(spec, func(_ context.Context, req *request) (handler.Result, error) {
		if seen.add(req.Info) < 4 {
			wait := handler.Wait(soon)
			wait.Reason, wait.Status = "NotYet", fields{"seen": len(seen.all())}
			return wait, nil
		}
		return handler.Result{}, nil
	}))
	u := b.create(b.widget("one"))
	u = b.await(u, "Succeeded")
	for i, info := range b.awaitCalls(&seen, 4) {
		if info.Attempt != 1 || !info.LastAttempt {
			t.Errorf("call %d is attempt %d, last %v", i+1, info.Attempt, info.LastAttempt)
		}
	}
	if !same(inStatus(u, "myapp"), fields{"seen": 3}) {
		t.Errorf("the payload is %v", inStatus(u, "myapp"))
	}
}

func TestSDKPlainErrorsAndPanicsFollowThePolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		policy        handler.ErrorPolicy
		run           func() error
		state, reason string
		calls         int
	}{
		{"retry", handler.RetryError, func() error { return errors.New("x") }, "Failed", "RetryLimitReached", 2},
		{"fail", handler.FailError, func() error { return errors.New("x") }, "Failed", "Error", 1},
		{"ignore", handler.IgnoreError, func() error { return errors.New("x") }, "Succeeded", "", 1},
		{"a temporary error is no plain one", handler.IgnoreError, func() error { return fmt.Errorf("x: %w", handler.Temporary("y")) }, "Failed", "RetryLimitReached", 2},
		{"a panic", handler.FailError, func() error { panic("x") }, "Failed", "Panicked", 1},
		{"a panic with a nil map", handler.RetryError, func() error { var m map[string]int; m["x"] = 1; return nil }, "Failed", "RetryLimitReached", 2},
		{"an exit", handler.FailError, func() error { runtime.Goexit(); return nil }, "Failed", "Exited", 1},
		{"a permanent error", handler.RetryError, func() error { return handler.Permanent("x", handler.Reason("Broken")) }, "Failed", "Broken", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen calls
			spec := b.spec(testKind("Widget"), "myapp", handler.Create)
			spec.OnError, spec.Retry = c.policy, handler.Retry{Limit: 2, Initial: 10 * time.Millisecond}
			b.start(one(spec, func(_ context.Context, req *request) (handler.Result, error) {
				seen.add(req.Info)
				if req.Object.GetName() == "fine" {
					return handler.Result{}, nil
				}
				return handler.Result{}, c.run()
			}))
			u := b.create(b.widget("one"))
			u = b.await(u, c.state)
			if reason, _ := b.record(u, "myapp")["reason"].(string); reason != c.reason {
				t.Errorf("the reason is %q, want %q", reason, c.reason)
			}
			if n := len(seen.all()); n != c.calls {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
			b.await(b.create(b.widget("fine")), "Succeeded") // the workers live on
		})
	}
}

func TestSDKAttemptTimeoutEndsTheContext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	spec := b.spec(testKind("Widget"), "myapp", handler.Create)
	spec.Timeout, spec.Retry = 100*time.Millisecond, handler.Retry{Initial: time.Hour, Max: time.Hour}
	b.start(one(spec, func(ctx context.Context, req *request) (handler.Result, error) {
		if seen.add(req.Info) > 1 {
			return handler.Result{}, nil
		}
		<-ctx.Done()
		return handler.Result{Status: fields{"phase": "Late"}}, fmt.Errorf("call: %w", ctx.Err())
	}))
	u := b.create(b.widget("one"))
	if r := b.ended(u, "Retrying", "AttemptTimedOut"); !same(r["attempts"], 1) {
		t.Errorf("the record is %v", r)
	}
	if have := inStatus(b.get(u), "myapp", "phase"); have != "Late" {
		t.Errorf("the payload is %v", have)
	}
	b.patch(u, `{"metadata":{"annotations":{"`+b.key("retry")+`":"*"}}}`)
	if all := b.awaitCalls(&seen, 2); all[1].Attempt != 2 {
		t.Errorf("a person's word shortens the back-off, it is attempt %d", all[1].Attempt)
	}
	b.await(u, "Succeeded")
}

// A handler that doesn't heed its context is left to itself; until it ends it
// isn't started on the same object again, nor does it hold up the others.
func TestSDKAbandonedHandlerIsNotRunTwiceAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var running, most, other atomic.Int64
	var seen calls
	release := make(chan struct{})
	spec := b.spec(testKind("Widget"), "myapp", handler.Create)
	spec.Timeout, spec.Retry.Initial = 50*time.Millisecond, 10*time.Millisecond
	b.start(func(r handler.Registry) {
		handler.Register(r, spec, func(_ context.Context, req *request) (handler.Result, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			if seen.add(req.Info) == 1 {
				<-release
			}
			return handler.Result{}, nil
		})
		handler.Register(r, b.spec(testKind("Widget"), "other", handler.Create|handler.Update), func(context.Context, *request) (handler.Result, error) {
			other.Add(1)
			return handler.Result{}, nil
		})
	})
	u := b.create(b.widget("one"))
	b.ended(u, "Retrying", "AttemptTimedOut")
	b.resize(u, 2)
	b.eventually(func() error {
		if other.Load() < 2 {
			return errors.New("the other handler is held up")
		}
		return nil
	})
	b.stays(u, &seen, 1)
	close(release)
	b.awaitCalls(&seen, 2)
	b.await(u, "Succeeded")
	if most.Load() != 1 {
		t.Errorf("%d runs at once", most.Load())
	}
}

// An attempt that is claimed is written before it runs, with what had finished
// before it.
func TestSDKClaimIsWrittenBeforeTheAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	u := b.widget("one")
	h := b.history(u)
	claimed := make(chan fields, 1)
	spec := b.spec(testKind("Widget"), "myapp", handler.Create)
	spec.Claim, spec.Retry.Limit = true, 1
	b.start(func(r handler.Registry) {
		handler.Register(r, b.spec(testKind("Widget"), "first", handler.Create), func(context.Context, *request) (handler.Result, error) {
			return handler.Result{Status: fields{"phase": "Done"}}, nil
		})
		handler.Register(r, spec, func(ctx context.Context, req *request) (handler.Result, error) {
			claimed <- fields{"mine": b.record(b.get(u), "myapp"), "first": b.record(b.get(u), "first")["state"], "status": inStatus(b.get(u), "first", "phase")}
			select { // long enough for what has finished to be written on its own
			case <-time.After(1500 * time.Millisecond):
			case <-ctx.Done():
			}
			return handler.Result{}, nil
		})
	})
	b.create(u)
	have := <-claimed
	mine, _ := have["mine"].(fields)
	if !same(mine["attempts"], 1) || mine["state"] != "Pending" || have["first"] != "Succeeded" || have["status"] != "Done" {
		t.Errorf("while it runs the object says %v", have)
	}
	b.await(u, "Succeeded")
	b.quiet(u)
	for _, version := range h.all() {
		if state := version.GetAnnotations()[b.key("state")]; state == "Failed" {
			t.Errorf("the object showed Failed while its last attempt was running: %s", b.ours(version))
		}
	}
	if n := len(h.all()); n != 4 {
		t.Errorf("%d versions, want 4: created, status, claimed, finished", n)
	}
}

// An attempt that a stop of the operator ends was none, also if it was claimed.
func TestSDKStopIsNoAttempt(t *testing.T) {
	t.Parallel()
	for _, claim := range []bool{false, true} {
		t.Run(fmt.Sprintf("claim=%v", claim), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen calls
			spec := b.spec(testKind("Widget"), "myapp", handler.Create)
			spec.Claim, spec.Retry.Limit, spec.OnError = claim, 1, handler.FailError
			register := func(r handler.Registry) {
				handler.Register(r, b.spec(testKind("Widget"), "first", handler.Create), func(context.Context, *request) (handler.Result, error) {
					return handler.Result{Status: fields{"phase": "Done"}}, nil
				})
				handler.Register(r, spec, func(ctx context.Context, req *request) (handler.Result, error) {
					if seen.add(req.Info) == 1 {
						<-ctx.Done()
						return handler.Result{}, errors.New("broken off")
					}
					return handler.Result{}, nil
				})
			}
			operator := b.start(register)
			u := b.create(b.widget("one"))
			b.awaitCalls(&seen, 1)
			operator.stop()
			if u = b.get(u); b.record(u, "first")["state"] != "Succeeded" || b.record(u, "myapp")["attempts"] != nil {
				t.Errorf("after the stop: %s", b.ours(u))
			}
			b.start(register)
			if all := b.awaitCalls(&seen, 2); all[1].Attempt != 1 {
				t.Errorf("it is attempt %d", all[1].Attempt)
			}
			b.await(u, "Succeeded")
		})
	}
}

// Handlers run in the order in which they are declared.
func TestSDKHandlersRunInDeclaredOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mu sync.Mutex
	var order []string
	b.start(func(r handler.Registry) {
		for _, id := range []string{"z", "a", "m"} {
			handler.Register(r, b.spec(testKind("Widget"), id, handler.Create|handler.Update), func(_ context.Context, req *request) (handler.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, id)
				return handler.Result{}, nil
			})
		}
	})
	u := b.create(b.widget("one"))
	b.await(u, "Succeeded")
	b.resize(u, 2)
	b.eventually(func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(order) < 6 {
			return fmt.Errorf("%v", order)
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	if have := fmt.Sprint(order); have != "[z a m z a m]" {
		t.Errorf("the order was %s", have)
	}
}

// No more than Concurrency objects at once; and who waits for room gets it,
// also if the one that was next in line is gone.
func TestSDKConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var running, most atomic.Int64
	started, release := make(chan string, 20), make(chan struct{}, 20)
	spec := b.spec(testKind("Widget"), "myapp", handler.Create)
	spec.Concurrency = 1
	b.start(func(r handler.Registry) {
		handler.Register(r, b.spec(testKind("Widget"), "before", handler.Create), func(_ context.Context, req *request) (handler.Result, error) {
			return handler.Result{Status: fields{"phase": "Done"}}, nil
		})
		handler.Register(r, spec, func(_ context.Context, req *request) (handler.Result, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			started <- req.Object.GetName()
			<-release
			return handler.Result{}, nil
		})
	})
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		u := b.create(b.widget(name))
		b.eventually(func() error { // in line, or running
			if inStatus(b.get(u), "before", "phase") != "Done" && name != "a" {
				return errors.New("not in line yet")
			}
			return nil
		})
		if name == "a" {
			if first := <-started; first != "a" {
				t.Fatalf("%s runs first", first)
			}
		}
	}
	for _, name := range []string{"b", "c"} {
		u := b.get(b.widget(name))
		if err := b.admin.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		b.awaitGone(u)
	}
	release <- struct{}{}
	b.await(b.widget("a"), "Succeeded")
	for range 3 {
		release <- struct{}{}
	}
	b.await(b.widget("d"), "Succeeded")
	if most.Load() != 1 {
		t.Errorf("%d at once", most.Load())
	}
}
