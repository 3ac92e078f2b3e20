package remote

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/dogear-dev/dogear/controller/handler"
)

var _ handler.Gate = (*Gate)(nil)

// Gate bounds the calls of an endpoint and stops them while it is down. All
// handlers with the same endpoint may share it; those of different tenants
// should not, as one could close it to the other by a time-out that is too
// short.
//
// The engine asks it for Capacity before it starts an attempt, so that no
// worker waits and no attempt is used up while the endpoint is down. Handler
// asks it, too: without an engine, or in the moment in which capacity falls,
// calls wait for a place or end as Waiting.
type Gate struct {
	clock  clock.WithDelayedExecution
	chance func() float64 // of [0, 1)

	mu       sync.Mutex
	limits   Limits
	rate     *rate.Limiter // nil: no limit
	breaker  breaker
	inFlight int
	retryAt  time.Time     // while open
	moved    chan struct{} // closed when a place may be free; nil: nobody waits
	watchers map[*func()]bool
}

// NewGate returns a gate that lets calls through.
func NewGate(limits Limits, clock clock.WithDelayedExecution) *Gate {
	g := &Gate{clock: clock, chance: rand.Float64}
	g.SetLimits(limits)
	return g
}

// SetLimits changes the limits and keeps what is known of the endpoint.
func (g *Gate) SetLimits(limits Limits) {
	limits = limits.WithDefaults()
	g.mu.Lock()
	defer g.notifyAndUnlock(g.capacity())
	if limits.Rate != g.limits.Rate || limits.Burst != g.limits.Burst {
		g.rate = nil
		if limits.Rate > 0 {
			g.rate = rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst)
		}
	}
	g.limits = limits
	g.breaker.failures, g.breaker.first, g.breaker.longest = limits.Failures, limits.FirstProbe, limits.LongestProbe
}

// Capacity is how many calls may run at once now: 0 while the endpoint is
// down, 1 when it may be tried again, else Limits.Concurrency.
func (g *Gate) Capacity() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.capacity()
}

func (g *Gate) capacity() int {
	switch g.breaker.state {
	case open:
		return 0
	case halfOpen:
		return 1
	}
	return g.limits.Concurrency
}

// concurrency is the capacity of an endpoint that is well.
func (g *Gate) concurrency() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limits.Concurrency
}

// OnChange has f called after each change of Capacity, from any goroutine and
// with no lock held, until cancel is called.
func (g *Gate) OnChange(f func()) (cancel func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watchers == nil {
		g.watchers = map[*func()]bool{}
	}
	g.watchers[&f] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.watchers, &f)
	}
}

// notifyAndUnlock ends a change: capacity was before it.
func (g *Gate) notifyAndUnlock(before int) {
	var watchers []*func()
	if g.capacity() != before {
		watchers = slices.Collect(maps.Keys(g.watchers))
	}
	if g.moved != nil {
		close(g.moved)
		g.moved = nil
	}
	g.mu.Unlock()
	for _, f := range watchers {
		(*f)()
	}
}

// Health is what is known of an endpoint.
type Health struct {
	// Failures is the number of calls in a row that got no answer.
	Failures int
	// Down is when the endpoint began to count as down; zero: it does not.
	Down time.Time
	// NextProbe is when it may be tried again; zero: now.
	NextProbe time.Time
	// LastError is that of the last call without an answer, at most 1 KiB.
	LastError string
}

// Health tells how the endpoint is.
func (g *Gate) Health() Health {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := Health{Failures: g.breaker.inRow, Down: g.breaker.since, LastError: g.breaker.lastErr}
	if g.breaker.state == open {
		h.NextProbe = g.retryAt
	}
	return h
}

// closedError says that a call may not be made now, and when it may.
type closedError struct {
	reason string
	after  time.Duration
	text   string
}

func (e *closedError) Error() string { return e.text }

// enter waits for a place and for the rate limit. It fails with a closedError
// where that is in vain, and with that of ctx.
func (g *Gate) enter(ctx context.Context) (*pass, error) {
	p, err := g.place(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.pace(ctx); err != nil {
		p.leave(unknown, "")
		return nil, err
	}
	return p, nil
}

func (g *Gate) place(ctx context.Context) (*pass, error) {
	for {
		g.mu.Lock()
		if g.inFlight < g.capacity() {
			g.inFlight++
			epoch := g.breaker.epoch
			g.mu.Unlock()
			return &pass{gate: g, epoch: epoch}, nil
		}
		if g.moved == nil {
			g.moved = make(chan struct{})
		}
		state, moved, last, retryAt := g.breaker.state, g.moved, g.breaker.lastErr, g.retryAt
		g.mu.Unlock()
		if state != closed {
			after := max(time.Second, retryAt.Sub(g.clock.Now()))
			return nil, &closedError{ReasonEndpointDown, after, "the endpoint is down: " + last}
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for one of %d calls to end: %w", g.concurrency(), ctx.Err())
		}
	}
}

// pace waits for the rate limit.
func (g *Gate) pace(ctx context.Context) error {
	g.mu.Lock()
	limiter := g.rate
	g.mu.Unlock()
	if limiter == nil {
		return nil
	}
	now := g.clock.Now()
	reservation := limiter.ReserveN(now, 1)
	delay := reservation.DelayFrom(now)
	if delay <= 0 {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
		reservation.CancelAt(now)
		return &closedError{ReasonRateLimited, delay, fmt.Sprintf("the rate limit leaves no room for %s", delay)}
	}
	timer := g.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		reservation.CancelAt(g.clock.Now())
		return fmt.Errorf("wait for the rate limit: %w", ctx.Err())
	}
}

// verdict is what a call says about its endpoint.
type verdict uint8

const (
	unknown  verdict = iota // nothing: it was not made, or given up by us
	answered                // it lives
	failed                  // no answer
	missing                 // there is nothing to call, or to sign with
)

// pass is the right to one call.
type pass struct {
	gate  *Gate
	epoch int
}

// leave gives the place back. text is that of the failure.
func (p *pass) leave(v verdict, text string) {
	g := p.gate
	now, chance := g.clock.Now(), g.chance()
	g.mu.Lock()
	before := g.capacity()
	g.inFlight--
	var delay time.Duration
	switch v {
	case answered:
		g.breaker.answered()
	case missing, failed:
		if v == missing {
			g.breaker.inRow = max(g.breaker.inRow, g.limits.Failures-1) // the next call would find the same
		}
		if delay = g.breaker.failed(p.epoch, clean(text), now, chance); delay > 0 {
			g.retryAt = now.Add(delay)
		}
	}
	epoch := g.breaker.epoch
	g.notifyAndUnlock(before)
	if delay > 0 {
		g.clock.AfterFunc(delay, func() { go g.probe(epoch) })
	}
}

// probe lets one call through, unless the gate has moved since.
func (g *Gate) probe(epoch int) {
	g.mu.Lock()
	defer g.notifyAndUnlock(g.capacity())
	if g.breaker.epoch == epoch {
		g.breaker.move(halfOpen)
	}
}
