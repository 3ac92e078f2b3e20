package controller

import (
	"context"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// newDrain is an operator whose leader has just renewed its Lease, and the
// context of its handlers, after it was told to stop.
func newDrain(t *testing.T, period time.Duration) (*Operator, *testclock.FakeClock, context.Context) {
	t.Helper()
	c := testclock.NewFakeClock(time.Now())
	op, err := New(Options{Domain: "example.com", Declared: true, Clock: c, DrainPeriod: period})
	if err != nil {
		t.Fatal(err)
	}
	op.lease = &lease{clock: c, good: 10 * time.Second, renewed: c.Now()}
	ctx, stop := context.WithCancel(t.Context())
	handling, end := op.drained(ctx)
	t.Cleanup(end)
	if handling.Err() != nil {
		t.Error("handlers' context has ended before anybody said so")
	}
	stop()
	return op, c, handling
}

// passTime lets time pass as soon as somebody waits for it.
func passTime(t *testing.T, c *testclock.FakeClock, d time.Duration) {
	t.Helper()
	for !c.HasWaiters() {
		select {
		case <-t.Context().Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
	c.Step(d)
}

func TestHandlersMayEndAfterTheStop(t *testing.T) {
	t.Parallel()
	op, c, handling := newDrain(t, 3*time.Second)
	passTime(t, c, 2*time.Second)
	passTime(t, c, 999*time.Millisecond) // it has looked at the Lease in between
	if handling.Err() != nil {
		t.Error("handlers' context has ended before the period has")
	}
	if !op.lease.held() {
		t.Error("the Lease has lapsed")
	}
	passTime(t, c, time.Millisecond)
	<-handling.Done()
}

func TestHandlersEndWithTheLease(t *testing.T) {
	t.Parallel()
	_, c, handling := newDrain(t, time.Hour)
	passTime(t, c, 10*time.Second)
	<-handling.Done()
}

func TestHandlersEndWithTheOperatorByDefault(t *testing.T) {
	t.Parallel()
	_, _, handling := newDrain(t, 0)
	<-handling.Done()
}
