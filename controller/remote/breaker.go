package remote

import "time"

// breaker knows whether an endpoint is worth calling. It is a plain state
// machine: Gate has its lock and its timer.
//
//	closed --(failures in a row)--> open --(delay)--> half-open
//	half-open: one probe; an answer closes it, a failure opens it for longer
//
// An answer closes it from anywhere: a call that began before it opened may
// still end well.
type breaker struct {
	failures int // in a row that open it
	first    time.Duration
	longest  time.Duration

	state   breakerState
	epoch   int // counts changes of state: results of older epochs are no probe's
	inRow   int
	opened  int // times in a row that it opened
	since   time.Time
	lastErr string
}

type breakerState uint8

const (
	closed breakerState = iota
	open
	halfOpen
)

func (b *breaker) move(to breakerState) {
	b.state = to
	b.epoch++
}

// answered takes in that the endpoint lives.
func (b *breaker) answered() {
	b.inRow, b.opened, b.lastErr, b.since = 0, 0, "", time.Time{}
	if b.state != closed {
		b.move(closed)
	}
}

// failed takes in a call of that epoch that got no answer. It returns how long
// the breaker has opened for; 0: it has not.
func (b *breaker) failed(epoch int, text string, now time.Time, chance float64) time.Duration {
	b.inRow++
	b.lastErr = text
	switch {
	case b.state == open,
		b.state == halfOpen && epoch != b.epoch,
		b.state == closed && b.inRow < b.failures:
		return 0
	}
	if b.opened == 0 {
		b.since = now
	}
	delay := b.delay(chance)
	b.opened++
	b.move(open)
	return delay
}

// delay doubles each time that the breaker opens again, and is up to a fifth
// longer by chance, so that several processes don't probe in step.
func (b *breaker) delay(chance float64) time.Duration {
	delay := b.first
	for range b.opened {
		if delay *= 2; delay >= b.longest {
			delay = b.longest
			break
		}
	}
	return delay + time.Duration(chance*float64(delay)/5)
}
