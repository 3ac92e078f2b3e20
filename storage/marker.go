package storage

import (
	"encoding/json"
	"maps"
	"time"
)

// Version is the version of the documents that this release writes.
const Version = 1

// Cause is why a handler runs.
type Cause string

// Causes.
const (
	Create Cause = "Create"
	Update Cause = "Update"
	Delete Cause = "Delete"
	Resume Cause = "Resume"
)

// State is where a handler, or a whole object, stands.
type State string

// States, as people read them in the state annotation.
const (
	Pending   State = "Pending"
	Waiting   State = "Waiting"
	Retrying  State = "Retrying"
	Failed    State = "Failed"
	Succeeded State = "Succeeded"
)

// Finished tells whether a handler in this state has nothing left to do.
func (s State) Finished() bool { return s == Failed || s == Succeeded }

// Identity is what a marker is bound to. Only UID proves it; a stamp made at
// admission of a CREATE, before there is a uid, carries the rest instead.
type Identity struct {
	UID       string
	Namespace string
	Name      string
	Kind      string
}

// Binds tells whether a document with this identity belongs to the object.
// A stamp without a name (generateName) is accepted for its namespace and kind.
func (i Identity) Binds(object Identity) bool {
	if i.UID != "" {
		return i.UID == object.UID
	}
	return i.Kind != "" && i.Kind == object.Kind && i.Namespace == object.Namespace &&
		(i.Name == "" || i.Name == object.Name)
}

// Handled is what has been finished on an object.
type Handled struct {
	Identity
	Essence    string           // digest of the essence that all entries without one of their own finished
	Generation int64            // metadata.generation at that time; 0 where the kind has none
	By         map[string]Entry // by handler ID

	extra, bound extra // bound: of Identity, in a stamp
}

// Entry is one handler's part in Handled.
type Entry struct {
	Digest   string // where it differs from Handled.Essence: the digest of watched fields, or of an older essence
	Revision int64  // the handler's revision then; 0 where none was set

	extra extra
}

// Progress is what is unfinished on an object, or has failed for good.
type Progress struct {
	Identity
	Handlers map[string]Record // by handler ID

	extra, bound extra // bound: of Identity, in a stamp
}

// Record is the progress of one handler on one object.
type Record struct {
	Cause    Cause
	State    State
	Essence  string    // the digest that the last attempt saw; empty before the first
	Attempts int       // attempts used, the claimed one included
	Claimed  bool      // the last attempt was written before it ran, and has not ended yet
	Started  time.Time // of the first attempt
	Next     time.Time // not before; zero: now
	Reason   string    // of the last outcome, a CamelCase word
	Message  string    // of the last error, at most MaxMessage bytes
	By       string    // the user who made the change, where admission saw it
	Revision int64     // the handler's revision in the last attempt
	// Completion is a word of this attempt by which somebody else may tell what
	// the handler waits for came to; only while Waiting.
	Completion string

	extra extra
}

// Marker is all that one operator keeps on one object.
// The maps of a marker are never changed once it is made: see its With methods.
type Marker struct {
	State    State
	Handled  *Handled  // nil: nothing was ever finished
	Progress *Progress // nil: nothing is unfinished, nothing has failed
	Status   map[string]json.RawMessage
	Base     string // gzip+base64 of the essence before the pending change
	Retry    string
	Paused   bool
}

// extra holds the unknown fields of a document, so that an older release
// doesn't drop what a newer one wrote.
type extra map[string]json.RawMessage

// IsZero tells whether the object carries nothing.
func (m Marker) IsZero() bool {
	return m.State == "" && m.Handled == nil && m.Progress == nil && len(m.Status) == 0 &&
		m.Base == "" && m.Retry == "" && !m.Paused
}

// Record returns a handler's record; ok is false where there is none.
func (m Marker) Record(id string) (r Record, ok bool) {
	if m.Progress == nil {
		return Record{}, false
	}
	r, ok = m.Progress.Handlers[id]
	return r, ok
}

// Entry returns what a handler finished; ok is false where it never did.
// The digest of the entry is filled in.
func (m Marker) Entry(id string) (e Entry, ok bool) {
	if m.Handled == nil {
		return Entry{}, false
	}
	e, ok = m.Handled.By[id]
	if ok && e.Digest == "" {
		e.Digest = m.Handled.Essence
	}
	return e, ok
}

// WithRecord returns the marker with this record of a handler.
func (m Marker) WithRecord(object Identity, id string, r Record) Marker {
	p := Progress{Handlers: map[string]Record{}}
	if m.Progress != nil {
		p = *m.Progress
		p.Handlers = maps.Clone(p.Handlers)
	}
	p.Identity = object
	p.Handlers[id] = r
	m.Progress = &p
	return m
}

// WithoutRecord returns the marker without the record of a handler.
func (m Marker) WithoutRecord(id string) Marker {
	if _, ok := m.Record(id); !ok {
		return m
	}
	p := *m.Progress
	p.Handlers = maps.Clone(p.Handlers)
	delete(p.Handlers, id)
	m.Progress = &p
	if len(p.Handlers) == 0 {
		m.Progress = nil
	}
	return m
}

// WithStatus returns the marker with this payload of a handler; nil removes it.
func (m Marker) WithStatus(id string, payload json.RawMessage) Marker {
	if _, ok := m.Status[id]; !ok && payload == nil {
		return m
	}
	status := maps.Clone(m.Status)
	if status == nil {
		status = map[string]json.RawMessage{}
	}
	if payload == nil {
		delete(status, id)
	} else {
		status[id] = payload
	}
	if len(status) == 0 {
		status = nil
	}
	m.Status = status
	return m
}

// WithDigest returns the marker with what a handler finished or tried for the
// digest was put down to the digest is.
func (m Marker) WithDigest(id, was, is string) Marker {
	if r, ok := m.Record(id); ok && r.Essence == was {
		p := *m.Progress
		p.Handlers = maps.Clone(p.Handlers)
		r.Essence = is
		p.Handlers[id] = r
		m.Progress = &p
	}
	if e, ok := m.Entry(id); ok && e.Digest == was {
		h := *m.Handled
		h.By = maps.Clone(h.By)
		e.Digest = is
		h.By[id] = e
		m.Handled = &h
	}
	return m
}
