package plan

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dogear-dev/dogear/storage"
)

// Retried returns the marker with the user's retry annotation consumed, as
// Decide does it. Outcomes of runs have to be applied to this one: on the one
// that still asks, a failure would be asked to start again.
func Retried(in Input) storage.Marker {
	if in.suspended() {
		return in.Marker
	}
	return in.consumeRetry()
}

// consumeRetry does what the user's retry annotation asks for: handlers that
// failed for good start again, those in back-off go on at once.
func (in *Input) consumeRetry() storage.Marker {
	m := in.Marker
	if m.Retry == "" {
		return m
	}
	asked := strings.FieldsFunc(m.Retry, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, h := range in.Handlers {
		r, ok := m.Record(h.ID)
		if !ok || !h.Selected || r.State == storage.Succeeded || !(slices.Contains(asked, "*") || slices.Contains(asked, h.ID)) {
			continue
		}
		r.Next = time.Time{}
		if r.State == storage.Failed {
			r.State, r.Attempts, r.Started, r.Reason, r.Message = storage.Pending, 0, time.Time{}, "", ""
		}
		m = m.WithRecord(in.Object.Identity, h.ID, r)
	}
	m.Retry = ""
	return m
}

// settle returns the marker that the object has to carry where the handlers
// stand so: records of what is no longer open go, and when nothing is open,
// the current digest counts as handled. It returns the marker it was given if
// all that is in there already.
func (in *Input) settle(standings []standing, open bool) storage.Marker {
	m := in.Marker
	if !in.Object.Deleting {
		m = in.dropRecords(m, standings, open)
		if !open && (in.outdated(standings) || loose(m)) {
			m = in.handle(m, standings)
		}
		m = in.adopt(m, standings)
	}
	if !open {
		m.Base = ""
	}
	m.State = in.state(standings, m)
	return m
}

// loose tells whether a payload has no document that binds it to the object:
// the next look would take it for one that came with a copy.
func loose(m storage.Marker) bool {
	return len(m.Status) > 0 && m.Handled == nil && m.Progress == nil
}

// adopt marks at once what counts as finished without a run, also while other
// handlers are open: a change that comes before they finish must not be missed.
func (in *Input) adopt(m storage.Marker, standings []standing) storage.Marker {
	for i, s := range standings {
		if !s.adopt {
			continue
		}
		h := &in.Handlers[i]
		if entry, ok := m.Entry(h.ID); !ok || entry.Digest != in.digest(h) {
			m = in.enter(m, h.ID, in.digest(h), h.Revision).WithoutRecord(h.ID)
		}
	}
	return m
}

// enter returns the marker with an entry of one handler. What the marker says
// of other handlers stays.
func (in *Input) enter(m storage.Marker, id, digest string, revision int64) storage.Marker {
	h := in.bound(m.Handled)
	entry := h.By[id]
	entry.Digest, entry.Revision = digest, revision
	if digest == h.Essence {
		entry.Digest = ""
	}
	h.By[id] = entry
	m.Handled = &h
	return m
}

// bound returns a copy of what is handled that is bound to the object. Of the
// stamp of a birth, only that stays which a stamp can say.
func (in *Input) bound(old *storage.Handled) storage.Handled {
	if old == nil {
		return storage.Handled{Identity: in.Object.Identity, By: map[string]storage.Entry{}}
	}
	h := *old
	if h.By = maps.Clone(h.By); h.By == nil {
		h.By = map[string]storage.Entry{}
	}
	if h.UID != "" || in.Object.UID == "" {
		return h
	}
	h.Identity = in.Object.Identity
	if h.Essence == in.Object.Birth && h.Essence != "" {
		h.Essence = in.Object.Essence // the same, of which birth knew a part
	}
	for i := range in.Handlers {
		if in.Handlers[i].runsAtBirth() {
			delete(h.By, in.Handlers[i].ID)
		}
	}
	return h
}

// dropRecords drops the records that nobody needs: those of handlers that are
// gone or don't select the object (a finished one leaves an entry), and those
// that the entry, or the end of all work, makes superfluous.
func (in *Input) dropRecords(m storage.Marker, standings []standing, open bool) storage.Marker {
	if m.Progress == nil {
		return m
	}
	for _, id := range slices.Sorted(maps.Keys(m.Progress.Handlers)) {
		r := m.Progress.Handlers[id]
		i := slices.IndexFunc(in.Handlers, func(h Handler) bool { return h.ID == id })
		switch {
		case i < 0 && r.State == storage.Failed:
			// of a release that knows more handlers: it will look for it
		case i < 0 || !in.Handlers[i].Selected:
			m = in.remember(m, id, r).WithoutRecord(id)
		case standings[i].open() || standings[i].state == storage.Failed:
		case !open || r.Essence == "":
			m = m.WithoutRecord(id)
		}
	}
	return m
}

// undone is the digest of an entry whose handler has since begun, but not
// finished, something else. No digest equals it.
const undone = "-"

// remember leaves in an entry what the record of a handler tells that does not
// select the object at present: what it finished, or that what it finished
// before is no longer the last that it saw.
func (in *Input) remember(m storage.Marker, id string, r storage.Record) storage.Marker {
	if r.Essence == "" || r.Cause == storage.Delete || r.Cause == storage.Resume {
		return m
	}
	entry, entered := m.Entry(id)
	switch {
	case r.State.Finished():
		return in.enter(m, id, r.Essence, r.Revision)
	case entered && entry.Digest != r.Essence:
		return in.enter(m, id, undone, entry.Revision)
	case !entered && r.Cause == storage.Update:
		return in.enter(m, id, undone, r.Revision) // of its first success only this record is left
	}
	return m
}

// outdated tells whether, with nothing open, what is handled has to be
// written: a handler finished something that no entry says.
func (in *Input) outdated(standings []standing) bool {
	for i, s := range standings {
		h := &in.Handlers[i]
		if s.state != storage.Succeeded || h.On&(OnCreate|OnUpdate) == 0 {
			continue
		}
		r, recorded := in.Marker.Record(h.ID)
		_, entered := in.Marker.Entry(h.ID)
		if s.adopt || (recorded && tells(r, entered)) {
			return true
		}
	}
	return false
}

// tells whether the record of a handler with nothing left to do says of it
// what no entry does: that it succeeded, or at least that it once did.
func tells(r storage.Record, entered bool) bool {
	if r.Cause == storage.Delete || r.Cause == storage.Resume || r.Essence == "" {
		return false
	}
	return r.State == storage.Succeeded || !entered
}

// handle returns the marker with the current essence as handled. A handler's
// entry says what it finished itself: one that is not declared for changes
// keeps an older digest, so that it is due once it is declared for them.
func (in *Input) handle(m storage.Marker, standings []standing) storage.Marker {
	h := in.bound(m.Handled)
	for id, entry := range h.By {
		if entry.Digest == "" {
			entry.Digest = h.Essence // may be an older one from now on
			h.By[id] = entry
		}
	}
	for i, s := range standings {
		handler := &in.Handlers[i]
		if s.state != storage.Succeeded || handler.On&(OnCreate|OnUpdate) == 0 {
			continue
		}
		entry, entered := h.By[handler.ID]
		r, recorded := in.Marker.Record(handler.ID)
		switch {
		case recorded && tells(r, entered):
			entry.Digest, entry.Revision = r.Essence, r.Revision
			if r.State != storage.Succeeded {
				entry.Digest = undone
			}
		case s.adopt:
			entry.Digest, entry.Revision = in.digest(handler), handler.Revision
		case !entered:
			continue
		}
		h.By[handler.ID] = entry
	}
	h.Identity, h.Essence, h.Generation = in.Object.Identity, in.Object.Essence, in.Object.Generation
	for id, entry := range h.By {
		if entry.Digest == h.Essence {
			entry.Digest = ""
			h.By[id] = entry
		}
	}
	m.Handled = &h
	return m
}

// state is the one word for people: what is still open outweighs what failed.
// A marker that is bound to nothing has none.
func (in *Input) state(standings []standing, m storage.Marker) storage.State {
	if m.Handled == nil && m.Progress == nil {
		return ""
	}
	best := storage.State("")
	for _, s := range standings {
		if rank(s.state) > rank(best) {
			best = s.state
		}
	}
	if best == "" && in.Object.Deleting {
		return m.State
	}
	return best
}

func rank(s storage.State) int {
	return slices.Index([]storage.State{"", storage.Succeeded, storage.Failed, storage.Pending, storage.Waiting, storage.Retrying}, s)
}
