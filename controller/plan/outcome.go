package plan

import (
	"math"
	"time"

	"github.com/dogear-dev/dogear/storage"
)

// Reasons that the engine itself gives.
const (
	ReasonLimit   = "RetryLimitReached"
	ReasonTimeout = "TimedOut"
)

// Outcome is how an attempt ended.
type Outcome struct {
	// State is Succeeded, Waiting, Retrying (a temporary error) or Failed (a
	// permanent one).
	State storage.State
	// After is the delay that the handler asked for; negative: it asked for
	// none, and the back-off decides.
	After time.Duration
	// Reason is a CamelCase word; Message the error's text.
	Reason, Message string
	// Completion is a word by which a Waiting outcome may be completed.
	Completion string
}

// defaultWait is the delay of a Waiting outcome that names none.
const defaultWait = 10 * time.Second

// Transition returns the record that an outcome leaves: the only place where
// an outcome becomes a state. chance, in [0,1), is what jitter is made of.
func Transition(h *Handler, due Due, previous storage.Record, o Outcome, now time.Time, chance float64) storage.Record {
	r := previous
	r.Cause, r.Essence, r.Revision = due.Cause, due.Digest, h.Revision
	r.Attempts, r.Started, r.Claimed = due.Attempt, due.Started, false
	r.State, r.Next = o.State, time.Time{}
	r.Reason, r.Message, r.Completion = o.Reason, storage.CleanMessage(o.Message), ""
	switch o.State {
	case storage.Waiting:
		r.Attempts--
		r.Completion = o.Completion
		r.Next = notBefore(now.Add(delay(o.After, defaultWait)))
	case storage.Retrying:
		r.Next = notBefore(now.Add(delay(o.After, h.Retry.backOff(due.Attempt, chance))))
		if due.Last {
			r.State, r.Next, r.Reason = storage.Failed, time.Time{}, ReasonLimit
		}
	}
	if !r.State.Finished() && h.Retry.Timeout > 0 && r.Next.After(r.Started.Add(h.Retry.Timeout)) {
		r.State, r.Next, r.Reason, r.Completion = storage.Failed, time.Time{}, ReasonTimeout, ""
	}
	return r
}

// notBefore is the first whole millisecond that is not before t. A record keeps
// no more: cut off, the next attempt would come too early.
func notBefore(t time.Time) time.Time {
	if whole := t.Truncate(time.Millisecond); whole.Before(t) {
		return whole.Add(time.Millisecond)
	}
	return t
}

func delay(asked, otherwise time.Duration) time.Duration {
	if asked < 0 {
		asked = otherwise
	}
	return min(asked, MaxDelay)
}

// backOff grows from Initial by Factor per attempt up to Max, and is made up
// to a tenth longer by chance, so that what failed together doesn't come back
// together.
func (r Retry) backOff(attempt int, chance float64) time.Duration {
	limit := float64(MaxDelay)
	if r.Max > 0 {
		limit = min(limit, float64(r.Max))
	}
	growth := min(math.Pow(max(r.Factor, 1), float64(attempt-1)), limit) // an infinite one makes 0 no number
	return time.Duration(min(min(float64(r.Initial)*growth, limit)*(1+chance/10), float64(MaxDelay)))
}

// Apply returns the marker after an outcome. A finished Resume leaves no
// record: what the handler had finished before stays untouched.
func Apply(m storage.Marker, object storage.Identity, h *Handler, due Due, o Outcome, now time.Time, chance float64) storage.Marker {
	previous, _ := m.Record(h.ID)
	r := Transition(h, due, previous, o, now, chance)
	if due.Cause == storage.Resume && r.State == storage.Succeeded {
		return m.WithoutRecord(h.ID)
	}
	return m.WithRecord(object, h.ID, r)
}

// Claim returns the marker after an attempt was announced, before it runs.
func Claim(m storage.Marker, object storage.Identity, h *Handler, due Due) storage.Marker {
	r, _ := m.Record(h.ID)
	r.Cause, r.Essence, r.Revision = due.Cause, due.Digest, h.Revision
	r.Attempts, r.Started, r.Claimed = due.Attempt, due.Started, true
	r.State, r.Next, r.Completion = storage.Pending, time.Time{}, ""
	return m.WithRecord(object, h.ID, r)
}
