package plan

import (
	"time"

	"github.com/dogear-dev/dogear/storage"
)

// Finalizer is what has to happen to our finalizer.
type Finalizer uint8

// What has to happen to our finalizer.
const (
	Keep   Finalizer = iota
	Add              // before any handler runs: what it makes must be cleaned up
	Remove           // in the same write as the marker
)

// Due is a handler that has to run now.
type Due struct {
	Index   int // in Input.Handlers
	Cause   storage.Cause
	Digest  string    // what it sees
	Attempt int       // from 1
	Last    bool      // no further attempt is allowed
	Started time.Time // of the first attempt; now where this is the first
}

// Decision is what follows from one look at an object.
type Decision struct {
	// Due lists the handlers to run now, in declared order.
	Due []Due
	// Next is when to look again though nothing has happened; zero: never.
	Next time.Time
	// Marker is what the object has to carry if nothing ran now.
	Marker storage.Marker
	// Finalizer is what has to happen to our finalizer.
	Finalizer Finalizer
	// States tells where each of Input.Handlers stands; empty: not selected.
	States []storage.State
	// Expired lists the handlers (indexes) whose limit was found used up with
	// no attempt left to fail in: the process died in the last one.
	Expired []int
}

// Decide is the decision. It doesn't change its input.
func Decide(in Input) Decision {
	d := Decision{Marker: in.Marker, States: make([]storage.State, len(in.Handlers))}
	if in.suspended() {
		for i := range in.Handlers {
			d.States[i] = in.stand(&in.Handlers[i]).state
		}
		if in.Object.Deleting && in.Object.Held && !in.needed() {
			d.Finalizer = Remove // there is no handling that a pause could suspend
		}
		return d
	}
	in.Marker = in.consumeRetry()
	standings := make([]standing, len(in.Handlers))
	open := false
	for i := range in.Handlers {
		h := &in.Handlers[i]
		s := in.stand(h)
		if s.open() && in.spent(h, s) {
			in.Marker = in.expire(h)
			s = in.stand(h)
			d.Expired = append(d.Expired, i)
		}
		standings[i], d.States[i] = s, s.state
		open = open || s.open()
		d.schedule(&in, i, s)
	}
	d.Marker = in.settle(standings, open)
	d.Finalizer = in.finalizer(open)
	return d
}

// suspended tells whether nothing is handled now: the object is paused, or it
// is being deleted and our finalizer doesn't hold it.
func (in *Input) suspended() bool {
	return in.Marker.Paused || (in.Object.Deleting && !in.Object.Held)
}

// schedule puts an open handler among those due now, or minds when it will be.
func (d *Decision) schedule(in *Input, i int, s standing) {
	switch {
	case !s.open():
	case s.next.After(in.Now):
		if d.Next.IsZero() || s.next.Before(d.Next) {
			d.Next = s.next
		}
	default:
		h := &in.Handlers[i]
		due := Due{Index: i, Cause: s.cause, Digest: in.digest(h), Attempt: s.used + 1, Started: s.started}
		if due.Started.IsZero() || due.Started.After(in.Now) {
			due.Started = in.Now // also where a wrong clock wrote it
		}
		due.Last = h.Retry.Limit > 0 && due.Attempt >= h.Retry.Limit
		d.Due = append(d.Due, due)
	}
}

// spent tells whether the handler has no attempt left. That is seen here only
// where the process died in a claimed attempt, or the limit was lowered.
// Admission can't tell the first from an attempt that is just running.
func (in *Input) spent(h *Handler, s standing) bool {
	return !in.Now.IsZero() && h.Retry.Limit > 0 && s.used >= h.Retry.Limit && s.state != storage.Waiting
}

func (in *Input) expire(h *Handler) storage.Marker {
	r, _ := in.Marker.Record(h.ID)
	r.State, r.Claimed, r.Next = storage.Failed, false, time.Time{}
	r.Reason = ReasonLimit
	return in.Marker.WithRecord(in.Object.Identity, h.ID, r)
}

// needed tells whether a delete handler selects the object.
func (in *Input) needed() bool {
	for i := range in.Handlers {
		if h := &in.Handlers[i]; h.Selected && h.On&OnDelete != 0 {
			return true
		}
	}
	return false
}

func (in *Input) finalizer(open bool) Finalizer {
	needed := in.needed()
	switch {
	case in.Object.Deleting && in.Object.Held && !open:
		return Remove
	case in.Object.Deleting:
		return Keep
	case needed && !in.Object.Held:
		return Add
	case !needed && in.Object.Held:
		return Remove
	}
	return Keep
}
