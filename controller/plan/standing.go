package plan

import (
	"time"

	"github.com/dogear-dev/dogear/storage"
)

// standing is where one handler stands on the object.
type standing struct {
	state   storage.State // empty: the handler has nothing to do with the object
	cause   storage.Cause // why it runs; empty: nothing is left to do
	next    time.Time     // not before
	started time.Time     // of the first attempt for this digest and cause
	used    int           // attempts used for this digest and cause
	adopt   bool          // the current digest is to be marked as finished without a run
}

func (s standing) open() bool { return s.cause != "" }

// stand decides where a handler stands.
func (in *Input) stand(h *Handler) standing {
	switch {
	case !h.Selected:
		return standing{}
	case in.Object.Deleting:
		return in.standDeleting(h)
	}
	record, recorded := in.Marker.Record(h.ID)
	entry, entered := in.Marker.Entry(h.ID)
	if entered && in.Marker.Handled.UID == "" && h.runsAtBirth() {
		entry, entered = storage.Entry{}, false // nobody has finished a creation at birth
	}
	digest := in.digest(h)
	if recorded && !in.counts(record, h, entry, entered) {
		record, recorded = storage.Record{}, false
	}
	tried := recorded && record.Essence != ""

	if tried && record.Essence == digest && record.Revision >= h.Revision {
		return in.standTried(record)
	}
	// A record of another digest outweighs the entry: the handler has seen
	// something else since it finished what the entry says.
	if entered && !tried && in.matches(entry.Digest, h) && entry.Revision >= h.Revision {
		s := in.standFinished(h, recorded && record.Cause == storage.Resume)
		s.adopt = entry.Digest != digest // matched as at birth, which can be told only until the next change
		return s
	}
	finished := entry.Revision
	if tried && record.State.Finished() {
		finished = max(finished, record.Revision)
	}
	// A record as Update proves it too: admission knew, or an earlier attempt
	// overwrote the record that told of it. What began as Create goes on as
	// Update where the handler is no longer declared for Create.
	once := entered || (tried && record.State.Finished()) ||
		(recorded && record.Cause == storage.Update && (tried || h.On&OnUpdate != 0)) ||
		(tried && record.Cause == storage.Create && h.On&OnCreate == 0)
	return in.standChanged(h, once, finished < h.Revision, record)
}

// counts tells whether a record says something of an object that lives. One as
// Resume does of this digest alone, and only where nothing else was due first.
func (in *Input) counts(r storage.Record, h *Handler, entry storage.Entry, entered bool) bool {
	switch {
	case r.Cause == storage.Delete:
		return false
	case r.Cause != storage.Resume:
		return true
	case h.On&OnResume == 0 || r.Essence != in.digest(h):
		return false
	case h.On&(OnCreate|OnUpdate) == 0:
		return true
	}
	return entered && (h.On&OnUpdate == 0 || in.matches(entry.Digest, h))
}

// standDeleting: only delete handlers count, and only while our finalizer
// holds the object. Whoever took the finalizer off has waived the cleanup.
func (in *Input) standDeleting(h *Handler) standing {
	if !in.Object.Held || h.On&OnDelete == 0 {
		return standing{}
	}
	record, ok := in.Marker.Record(h.ID)
	if ok && record.Cause == storage.Delete && (record.Essence != "" || record.Attempts > 0) {
		s := in.standTried(record)
		if record.Essence != in.digest(h) {
			s.next = time.Time{} // somebody may just have removed what was in the way
		}
		return s
	}
	return standing{state: storage.Pending, cause: storage.Delete}
}

// standTried: the record tells of an attempt at just this.
func (in *Input) standTried(r storage.Record) standing {
	if r.State.Finished() {
		return standing{state: r.State}
	}
	next := r.Next
	if !in.Now.IsZero() && next.Sub(in.Now) > MaxDelay {
		next = in.Now
	}
	return standing{state: r.State, cause: r.Cause, next: next, started: r.Started, used: r.Attempts}
}

// standFinished: the entry says that the handler finished just this. It may
// still owe a run as Resume.
func (in *Input) standFinished(h *Handler, resuming bool) standing {
	if h.On&OnResume != 0 && (h.Resume || resuming) {
		return standing{state: storage.Pending, cause: storage.Resume}
	}
	return standing{state: storage.Succeeded}
}

// standChanged: the handler has not finished what the object is now.
func (in *Input) standChanged(h *Handler, once, raised bool, r storage.Record) standing {
	due := func(c storage.Cause) standing { return standing{state: storage.Pending, cause: c} }
	switch {
	case once && h.On&OnUpdate != 0:
		return due(storage.Update)
	case once && raised && h.On&OnCreate != 0:
		return due(storage.Create)
	case once:
		// Declared for no change: what it finished stands, a failure too. A run
		// as Resume waits until no record is left that it would overwrite.
		if r.State.Finished() {
			return standing{state: r.State}
		}
		return in.standFinished(h, false)
	case h.On&OnCreate != 0 && (!h.Adopt || in.Object.UID == "" || r.Cause == storage.Create):
		return due(storage.Create) // birth, or its stamp, proves that the object is younger than the handler
	case h.On&(OnCreate|OnUpdate) != 0:
		return standing{state: storage.Succeeded, adopt: true}
	}
	return in.standFinished(h, false)
}

// matches tells whether an entry's digest is what the handler would see now.
// A stamp that was made at birth can only know the digest at birth.
func (in *Input) matches(digest string, h *Handler) bool {
	if digest == in.digest(h) {
		return true
	}
	stamp := in.Marker.Handled.UID == ""
	return stamp && h.Digest == "" && in.Object.Birth != "" && digest == in.Object.Birth
}
