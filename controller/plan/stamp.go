package plan

import (
	"github.com/dogear-dev/dogear/storage"
)

// Stamp returns what admission leaves on an object: for each handler that is
// due a Pending record, and who made the change. An existing record stays what
// it is: it knows more than admission does. Where nothing is due on a new
// object, it counts as handled from birth, if it has a name to be bound to.
// Stamp is deterministic: it takes no clock, and the same input gives the same
// marker in a dry run and in a reinvocation.
func Stamp(in Input, by string) (storage.Marker, Finalizer) {
	d := Decide(in)
	m := d.Marker
	for _, due := range d.Due {
		id := in.Handlers[due.Index].ID
		r, ok := m.Record(id)
		if !ok {
			r = storage.Record{Cause: due.Cause, State: storage.Pending}
		}
		if due.Cause != storage.Resume {
			r.By = by
			m = m.WithRecord(in.Object.Identity, id, r)
		}
	}
	if m.Progress != nil && m.State == "" {
		m.State = storage.Pending
	}
	born := in.Object.UID == "" && len(d.Due) == 0
	switch {
	case born && in.Object.Name == "":
		m.Handled = nil
		if m.Progress == nil {
			m.State = ""
		}
	case born:
		m = in.handledAtBirth(m, d.States)
	}
	return m, d.Finalizer
}

func (in *Input) handledAtBirth(m storage.Marker, states []storage.State) storage.Marker {
	standings := make([]standing, len(states))
	selected := false
	for i, h := range in.Handlers {
		if h.Selected {
			standings[i].state = storage.Succeeded
			selected = true
		}
	}
	if !selected {
		return m
	}
	m = in.handle(m, standings)
	m.State = storage.Succeeded
	return m
}

// Recall returns the marker as this process knows it: what it wrote or read
// last itself (known) outweighs what is found now, in which only admission may
// have added records and only users retry and paused. So state that somebody
// wiped or forged while no webhook was there to restore it is not believed.
// object is that which both belong to.
func Recall(known *storage.Marker, found storage.Marker, object storage.Identity) storage.Marker {
	if known == nil {
		return found
	}
	m := *known
	m.State, m.Base, m.Retry, m.Paused = found.State, found.Base, found.Retry, found.Paused
	if found.Progress == nil {
		return m
	}
	for id, r := range found.Progress.Handlers {
		have, ok := m.Record(id)
		switch {
		case !ok && r.Attempts == 0 && r.Essence == "" && r.State == storage.Pending:
			m = m.WithRecord(object, id, r)
		case ok && have.By != r.By:
			have.By = r.By
			m = m.WithRecord(object, id, have)
		}
	}
	return m
}
