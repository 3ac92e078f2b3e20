package plan

import (
	"maps"
	"slices"

	"github.com/dogear-dev/dogear/storage"
)

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

// state is the one word for people: what is still open outweighs what failed.
// A marker that is bound to nothing has none.
func (in *Input) state(standings []standing, m storage.Marker) storage.State {
	if m.Handled == nil && m.Progress == nil {
		return ""
	}
	states := make([]storage.State, len(standings))
	for i, s := range standings {
		states[i] = s.state
	}
	best := Worst(states...)
	if best == "" && in.Object.Deleting {
		return m.State
	}
	return best
}

// Worst returns the state that outweighs the others for people: what is open
// goes before what failed, and that before what succeeded.
func Worst(states ...storage.State) storage.State {
	worst := storage.State("")
	for _, s := range states {
		if rank(s) > rank(worst) {
			worst = s
		}
	}
	return worst
}

func rank(s storage.State) int {
	return slices.Index([]storage.State{"", storage.Succeeded, storage.Failed, storage.Pending, storage.Waiting, storage.Retrying}, s)
}
