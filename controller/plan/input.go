package plan

import (
	"time"

	"github.com/dogear-dev/dogear/storage"
)

// On is the set of causes that a handler is declared for.
type On uint8

// Causes of a handler, to be joined by |.
const (
	OnCreate On = 1 << iota
	OnUpdate
	OnDelete
	OnResume
)

// MaxDelay bounds how far ahead a record's next attempt may lie. A time beyond
// it was written by a wrong clock and counts as now.
const MaxDelay = 24 * time.Hour

// Object is what the decision needs to know of an object. The zero UID is that
// of an object at admission of its creation.
type Object struct {
	storage.Identity
	Generation int64
	Deleting   bool   // has a deletionTimestamp
	Held       bool   // carries our finalizer
	Essence    string // digest of the essence
	Birth      string // digest less what the API server sets at creation; empty: as Essence
}

// Handler is what the decision needs to know of one handler on one object.
type Handler struct {
	ID       string
	On       On
	Selected bool   // its filters match the object as it is now
	Digest   string // of the fields that it watches; empty: the whole essence counts
	Revision int64
	Adopt    bool // where it never finished: mark as handled, don't run
	Resume   bool // the process still owes it a run as Resume on this object
	Diff     bool // wants to know what changed
	Retry    Retry
}

// runsAtBirth tells whether no new object can have been handled already.
func (h *Handler) runsAtBirth() bool { return h.On&OnCreate != 0 && !h.Adopt }

// Retry bounds and paces the attempts of a handler. Zero values mean the
// defaults, which the SDK documents.
type Retry struct {
	Limit   int           // attempts; 0: no limit
	Initial time.Duration // delay after the first attempt
	Factor  float64       // growth of the delay per attempt
	Max     time.Duration // cap of the delay
	Timeout time.Duration // from the first attempt to the last; 0: none
}

// Input is one look at one object.
type Input struct {
	Object   Object
	Marker   storage.Marker // what Trust left of it
	Handlers []Handler      // in declared order
	Now      time.Time      // zero at admission, which must not depend on a clock: every back-off is still on
}

// digest is what the handler sees of the object.
func (in *Input) digest(h *Handler) string {
	if h.Digest != "" {
		return h.Digest
	}
	return in.Object.Essence
}

// Trust returns what of a marker belongs to the object. A document that came
// with a copy, a restore or a parent's template is dropped, and with the last
// one all that hangs on it; what users write stays.
func Trust(m storage.Marker, object storage.Identity) storage.Marker {
	if m.Handled != nil && !m.Handled.Binds(object) {
		m.Handled = nil
	}
	if m.Progress != nil && !m.Progress.Binds(object) {
		m.Progress = nil
	}
	if m.Progress != nil && m.Progress.UID == "" {
		m = untried(m)
	}
	if m.Handled == nil && m.Progress == nil {
		return storage.Marker{Retry: m.Retry, Paused: m.Paused}
	}
	return m
}

// untried leaves in the stamp of a birth only records that can be in one: of
// handlers that were not tried yet. Any other was forged while no webhook was
// there to drop it.
func untried(m storage.Marker) storage.Marker {
	for id, r := range m.Progress.Handlers {
		if r.State != storage.Pending || r.Essence != "" || r.Attempts > 0 {
			if m = m.WithoutRecord(id); m.Progress == nil {
				break
			}
		}
	}
	return m
}
