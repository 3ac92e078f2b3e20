package plan

import (
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
