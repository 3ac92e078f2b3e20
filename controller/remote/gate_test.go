package remote

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// gateOf is a gate with a fake clock and no chance, and the capacities that it
// was seen to have.
func gateOf(t testing.TB, limits Limits) (*Gate, *testingclock.FakeClock, func() []int) {
	t.Helper()
	now := testingclock.NewFakeClock(time.Now())
	g := NewGate(limits, now)
	g.chance = func() float64 { return 0 }
	var mu sync.Mutex
	var seen []int
	g.OnChange(func() {
		capacity := g.Capacity() // which takes the gate's lock
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, capacity)
	})
	return g, now, func() []int {
		mu.Lock()
		defer mu.Unlock()
		return append([]int(nil), seen...)
	}
}

func enter(t testing.TB, g *Gate) *pass {
	t.Helper()
	p, err := g.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// call makes calls that end in that verdict.
func call(t testing.TB, g *Gate, v verdict, times int) {
	t.Helper()
	for range times {
		enter(t, g).leave(v, "connection refused")
	}
}

func capacityIs(t testing.TB, g *Gate, want int) {
	t.Helper()
	if got := g.Capacity(); got != want {
		t.Errorf("capacity is %d: want %d", got, want)
	}
}

func TestTheGateClosesAfterFailuresInARow(t *testing.T) {
	t.Parallel()
	g, _, _ := gateOf(t, Limits{Concurrency: 3})
	for range 3 {
		call(t, g, failed, 4)
		call(t, g, answered, 1)
	}
	capacityIs(t, g, 3)
	call(t, g, failed, 4)
	call(t, g, unknown, 3) // says nothing
	capacityIs(t, g, 3)
	call(t, g, failed, 1)
	capacityIs(t, g, 0)
}

func TestTheGateOpensAgainByAProbe(t *testing.T) {
	t.Parallel()
	g, now, seen := gateOf(t, Limits{Concurrency: 8})
	call(t, g, failed, 5)
	began := g.Health()
	if began.Down.IsZero() || began.Failures != 5 || began.LastError != "connection refused" || !began.NextProbe.Equal(now.Now().Add(time.Second)) {
		t.Errorf("health is %+v", began)
	}
	// 1, 2, 4 … 60 s, 60 s
	for _, delay := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		delay *= time.Second
		now.Step(delay - time.Millisecond)
		capacityIs(t, g, 0)
		now.Step(time.Millisecond)
		until(t, "a probe is let through", func() bool { return g.Capacity() == 1 })
		probe := enter(t, g)
		capacityIs(t, g, 1)
		var shut *closedError
		if _, err := g.enter(t.Context()); !errors.As(err, &shut) || shut.reason != ReasonEndpointDown {
			t.Errorf("a second probe: got %v: want %s", err, ReasonEndpointDown)
		}
		probe.leave(failed, "connection refused")
		capacityIs(t, g, 0)
		if h := g.Health(); !h.Down.Equal(began.Down) {
			t.Errorf("down since %s: want %s", h.Down, began.Down)
		}
	}
	now.Step(time.Minute)
	until(t, "a probe is let through", func() bool { return g.Capacity() == 1 })
	call(t, g, answered, 1)
	capacityIs(t, g, 8)
	if h := g.Health(); h != (Health{}) {
		t.Errorf("health is %+v: want nothing", h)
	}
	call(t, g, failed, 5)
	now.Step(time.Second) // the delay begins anew
	until(t, "a probe is let through", func() bool { return g.Capacity() == 1 })

	got := seen()
	want := []int{0}
	for range 8 {
		want = append(want, 1, 0)
	}
	want = append(want, 1, 8, 0, 1)
	until(t, "all changes are told", func() bool { got = seen(); return len(got) >= len(want) })
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("told of %v: want %v", got, want)
		}
	}
}

func TestAProbeThatSaysNothingIsMadeAgain(t *testing.T) {
	t.Parallel()
	g, now, _ := gateOf(t, Limits{})
	call(t, g, failed, 5)
	now.Step(time.Second)
	until(t, "a probe is let through", func() bool { return g.Capacity() == 1 })
	call(t, g, unknown, 3)
	capacityIs(t, g, 1)
	call(t, g, answered, 1)
	capacityIs(t, g, 8)
}

// TestCallsFromBeforeAreNoProbes: they may end in any order.
func TestCallsFromBeforeAreNoProbes(t *testing.T) {
	t.Parallel()
	g, now, _ := gateOf(t, Limits{})
	early, late, good := enter(t, g), enter(t, g), enter(t, g)
	call(t, g, failed, 5)
	retryAt := g.Health().NextProbe
	early.leave(failed, "reset")
	if h := g.Health(); !h.NextProbe.Equal(retryAt) || h.LastError != "reset" {
		t.Errorf("health is %+v: want the same probe and the last error", h)
	}
	now.Step(time.Second)
	until(t, "a probe is let through", func() bool { return g.Capacity() == 1 })
	late.leave(failed, "reset")
	capacityIs(t, g, 1)
	good.leave(answered, "")
	capacityIs(t, g, 8)
}

func TestDelaysBetweenProbesVaryByAFifth(t *testing.T) {
	t.Parallel()
	b := breaker{first: time.Second, longest: time.Minute}
	if shortest, longest := b.delay(0), b.delay(1); shortest != time.Second || longest != 1200*time.Millisecond {
		t.Errorf("got %s to %s: want 1s to 1.2s", shortest, longest)
	}
	b.opened = 1000
	if got := b.delay(0); got != time.Minute {
		t.Errorf("got %s: want 1m", got)
	}
}

func TestTheGateBoundsCallsInFlight(t *testing.T) {
	t.Parallel()
	const most, calls = 3, 50
	g, _, _ := gateOf(t, Limits{Concurrency: most})
	var now, peak atomic.Int32
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			p := enter(t, g)
			n := now.Add(1)
			for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
			}
			now.Add(-1)
			p.leave(answered, "")
		})
	}
	group.Wait()
	if n := peak.Load(); n > most {
		t.Errorf("%d calls at once: want at most %d", n, most)
	}
}

func TestWhoWaitsForAPlaceHearsOfTheEnd(t *testing.T) {
	t.Parallel()
	g, _, _ := gateOf(t, Limits{Concurrency: 1, Failures: 1})
	first := enter(t, g)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { _, err := g.enter(ctx); ended <- err }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v: want that of the context", err)
	}
	go func() { _, err := g.enter(t.Context()); ended <- err }()
	until(t, "it waits", func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.moved != nil })
	first.leave(failed, "reset")
	var shut *closedError
	if err := <-ended; !errors.As(err, &shut) || !strings.Contains(shut.text, "the endpoint is down: reset") {
		t.Errorf("got %v: want that the endpoint is down", err)
	}
}

func TestTheRateIsKept(t *testing.T) {
	t.Parallel()
	g, now, _ := gateOf(t, Limits{Concurrency: 10, Rate: 2, Burst: 2})
	call(t, g, answered, 2)
	entered := make(chan error, 1)
	go func() {
		p, err := g.enter(t.Context())
		if err == nil {
			p.leave(answered, "")
		}
		entered <- err
	}()
	until(t, "it waits", now.HasWaiters)
	now.Step(499 * time.Millisecond)
	select {
	case <-entered:
		t.Fatal("the call was let through early")
	default:
	}
	now.Step(time.Millisecond)
	if err := <-entered; err != nil {
		t.Error(err)
	}
}

func TestACallThatTheRateLeavesNoTimeForIsNoAttempt(t *testing.T) {
	t.Parallel()
	g, _, _ := gateOf(t, Limits{Rate: 0.01})
	call(t, g, answered, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var shut *closedError
	if _, err := g.enter(ctx); !errors.As(err, &shut) || shut.reason != ReasonRateLimited || shut.after != 100*time.Second {
		t.Errorf("got %v: want that it waits for 100s", err)
	}
	if g.inFlight != 0 {
		t.Errorf("%d places are kept: want none", g.inFlight)
	}
}

func TestLimitsCanChange(t *testing.T) {
	t.Parallel()
	g, _, seen := gateOf(t, Limits{Concurrency: 2})
	first, second := enter(t, g), enter(t, g)
	g.SetLimits(Limits{Concurrency: 4})
	capacityIs(t, g, 4)
	third := enter(t, g)
	g.SetLimits(Limits{Concurrency: 1})
	for _, p := range []*pass{first, second, third} {
		p.leave(answered, "")
	}
	capacityIs(t, g, 1)
	if got := seen(); len(got) != 2 || got[0] != 4 || got[1] != 1 {
		t.Errorf("told of %v: want [4 1]", got)
	}
}

// TestAGateTellsNobodyWhoHasCancelled: it outlives those that mind it.
func TestAGateTellsNobodyWhoHasCancelled(t *testing.T) {
	t.Parallel()
	g, _, seen := gateOf(t, Limits{Concurrency: 2})
	calls := 0
	cancel := g.OnChange(func() { calls++ })
	g.SetLimits(Limits{Concurrency: 3})
	cancel()
	cancel()
	g.SetLimits(Limits{Concurrency: 4})
	if got := seen(); calls != 1 || len(got) != 2 || len(g.watchers) != 1 {
		t.Errorf("%d calls, want 1; the other was told %v; %d watchers", calls, got, len(g.watchers))
	}
}
