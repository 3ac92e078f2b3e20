package demo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/storage"
)

// A board shows where all objects stand, by what they carry.
type board struct {
	prefix storage.Prefix

	mu      sync.Mutex
	objects []object // in the order in which they were first seen
	changed chan struct{}
}

// object is what is known of an object.
type object struct {
	Kind, Name, UID string
	State           storage.State // of the whole; gone where it is no more
	Deleting        bool
	Held            bool // by the operator's finalizer
	Handlers        []standing
}

func (o object) title() string { return o.Kind + "/" + o.Name }

// standing is where a handler stands on an object.
type standing struct {
	Handler         string
	State           storage.State
	Attempts        int // 0: not known, or none
	Next            time.Time
	Reason, Message string
	Payload         json.RawMessage
}

func (s standing) equal(other standing) bool {
	return s.State == other.State && s.Attempts == other.Attempts && s.Next.Equal(other.Next) &&
		s.Message == other.Message && bytes.Equal(s.Payload, other.Payload)
}

// transition is one change of where a handler stands.
type transition struct {
	Object string
	standing
}

func newBoard(prefix storage.Prefix) *board {
	return &board{prefix: prefix, changed: make(chan struct{})}
}

// observe takes in a version of an object, or its end, and returns what has
// changed by it.
func (b *board) observe(m *metav1.PartialObjectMetadata, ended bool) []transition {
	b.mu.Lock()
	defer b.mu.Unlock()
	marker, _ := b.prefix.Read(m.Annotations) // what can be read of it
	if marker.IsZero() && !ended {
		return nil // not handled by this operator
	}
	i := slices.IndexFunc(b.objects, func(o object) bool { return o.UID == string(m.UID) })
	if i < 0 {
		if ended {
			return nil
		}
		i = len(b.objects)
		b.objects = append(b.objects, object{Kind: m.Kind, Name: m.Name, UID: string(m.UID)})
	}
	o := &b.objects[i]
	before := o.Handlers
	o.State, o.Deleting = marker.State, m.DeletionTimestamp != nil
	o.Held = slices.Contains(m.Finalizers, b.prefix.Finalizer())
	o.Handlers = standings(before, marker)
	if ended {
		o.end(before)
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return transitions(o.title(), before, o.Handlers)
}

// end: the version of the object that its end comes with may be the last or
// the one before it.
func (o *object) end(before []standing) {
	o.State, o.Held = gone, false
	o.Handlers = slices.Clone(before)
	for i := range o.Handlers {
		s := &o.Handlers[i]
		if !s.State.Finished() {
			s.Attempts++ // it ended in the write that let the object go
		}
		s.State, s.Next, s.Reason, s.Message, s.Payload = gone, time.Time{}, "", "", nil
	}
}

// standings reads where handlers stand. Their order is that of their IDs, as an
// object does not carry any other.
func standings(before []standing, m storage.Marker) []standing {
	after := slices.Clone(before)
	at := func(id string) *standing {
		for i := range after {
			if after[i].Handler == id {
				return &after[i]
			}
		}
		after = append(after, standing{Handler: id})
		return &after[len(after)-1]
	}
	if m.Handled != nil {
		for id := range m.Handled.By {
			if _, unfinished := m.Record(id); !unfinished {
				at(id).finish()
			}
		}
	}
	if m.Progress != nil {
		for id, r := range m.Progress.Handlers {
			s := at(id)
			s.State, s.Attempts, s.Next = r.State, r.Attempts, r.Next
			s.Reason, s.Message = r.Reason, r.Message
		}
	}
	for i := range after {
		after[i].Payload = m.Status[after[i].Handler]
	}
	slices.SortFunc(after, func(a, b standing) int { return cmp.Compare(a.Handler, b.Handler) })
	return after
}

// finish: the record is gone and with it the number of attempts, but success
// took one more than those that came before it.
func (s *standing) finish() {
	if s.State != "" && s.State != storage.Succeeded {
		s.Attempts++
	}
	s.State, s.Next, s.Reason, s.Message = storage.Succeeded, time.Time{}, "", ""
}

func transitions(title string, before, after []standing) []transition {
	var changes []transition
	for _, s := range after {
		i := slices.IndexFunc(before, func(b standing) bool { return b.Handler == s.Handler })
		if i < 0 || !before[i].equal(s) {
			changes = append(changes, transition{title, s})
		}
	}
	return changes
}

// look returns what is known now, and a channel that is closed when that changes.
func (b *board) look() ([]object, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	objects := slices.Clone(b.objects)
	for i := range objects {
		objects[i].Handlers = slices.Clone(objects[i].Handlers)
	}
	return objects, b.changed
}

// find returns the youngest object of that title.
func find(objects []object, title string) (object, bool) {
	for _, o := range slices.Backward(objects) {
		if o.title() == title {
			return o, true
		}
	}
	return object{}, false
}
