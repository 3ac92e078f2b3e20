package plan

import (
	"github.com/dogear-dev/dogear/storage"
)

// Stamp returns what admission leaves on an object: for each handler that is
// due a Pending record, and who made the change. An existing record stays what
// it is: it knows more than admission does. Where nothing is due on a new
// object, it counts as handled from birth, if it has a name to be bound to.
// A paused object is stamped too, so that nothing is missed when the pause
// ends; retry is left to the controller, and an object in deletion as it is.
// Stamp is deterministic: it takes no clock, and the same input gives the same
// marker in a dry run and in a reinvocation.
func Stamp(in Input, by string) (storage.Marker, Finalizer) {
	if in.Object.Deleting {
		return in.Marker, Keep
	}
	retry, paused := in.Marker.Retry, in.Marker.Paused
	in.Marker.Retry, in.Marker.Paused = "", false
	d := Decide(in)
	m := in.pend(d, by)
	if in.Object.UID == "" {
		m = in.born(m)
	}
	m.Retry, m.Paused = retry, paused
	if paused {
		return m, Keep
	}
	return m, d.Finalizer
}

// pend returns the marker with a record for each handler that is due.
func (in *Input) pend(d Decision, by string) storage.Marker {
	m := d.Marker
	for _, due := range d.Due {
		if due.Cause == storage.Resume {
			continue // the controller's alone
		}
		id := in.Handlers[due.Index].ID
		r, ok := m.Record(id)
		if !ok {
			r = storage.Record{Cause: due.Cause, State: storage.Pending}
		}
		if by != "" {
			r.By = by
		}
		m = m.WithRecord(in.Object.Identity, id, r)
	}
	if m.Progress != nil && m.State == "" {
		m.State = storage.Pending
	}
	return m
}

// born returns the marker of a new object: with no name to be bound to, it
// can't say what is handled; with nothing due, it says so.
func (in *Input) born(m storage.Marker) storage.Marker {
	switch {
	case in.Object.Name == "":
		m.Handled = nil
		if m.Progress == nil {
			m.State = ""
		}
	case m.Progress == nil && m.Handled == nil && in.selected():
		m = in.handle(m, nil)
		m.State = storage.Succeeded
	}
	return m
}

func (in *Input) selected() bool {
	for i := range in.Handlers {
		if in.Handlers[i].Selected {
			return true
		}
	}
	return false
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
