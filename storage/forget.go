package storage

import (
	"encoding/json"
	"maps"
)

// Names tells whether the marker holds anything of a handler.
func (m Marker) Names(id string) bool {
	_, entered := m.Entry(id)
	_, recorded := m.Record(id)
	_, paid := m.Status[id]
	return entered || recorded || paid
}

// Without returns the marker without all that it holds of these handlers.
// Where it held something and nothing of any other is left, only what users
// write stays.
func (m Marker) Without(ids []string) Marker {
	some := false
	for _, id := range ids {
		if !m.Names(id) {
			continue
		}
		some = true
		m = m.WithoutRecord(id).WithStatus(id, json.RawMessage(nil))
		if _, ok := m.Entry(id); ok {
			handled := *m.Handled
			handled.By = maps.Clone(handled.By)
			delete(handled.By, id)
			m.Handled = &handled
		}
	}
	if some && m.Progress == nil && len(m.Status) == 0 && (m.Handled == nil || len(m.Handled.By) == 0) {
		return Marker{Paused: m.Paused}
	}
	return m
}
