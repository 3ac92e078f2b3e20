package storage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fit returns the marker, made smaller where it has to be so that it keeps
// within the budget, and within the server's limit together with all other
// annotations of the object. It gives up payloads above Budget.Payload in any
// case, and then, in this order, until the rest fits: the base, the messages,
// who made the change, and the payloads, largest first. A payload leaves a
// note. cut names what was given up. It fails with ErrNoRoom if that is not
// enough.
func (b Budget) Fit(p Prefix, annotations map[string]string, m Marker) (fitted Marker, cut []string, err error) {
	b = b.WithDefaults()
	f := fitting{prefix: p, marker: m}
	f.keep(annotations)
	f.size = f.measure(m)
	fits := func() bool { return f.own+f.size <= b.Marker && f.all+f.size <= ServerLimit }

	f.givePayloads(b.Payload, func() bool { return false })
	if !fits() {
		m = f.marker
		m.Base = ""
		f.give(KeyBase, m)
	}
	if !fits() {
		f.give("message", f.marker.mapRecords(func(r *Record) { r.Message = "" }))
	}
	if !fits() {
		f.give("by", f.marker.mapRecords(func(r *Record) { r.By = "" }))
	}
	f.givePayloads(maxNote, fits)
	if !fits() {
		err = ErrNoRoom
	}
	return f.marker, f.cut, err
}

// fitting is a marker on its way into the budget, all sizes in bytes.
type fitting struct {
	prefix   Prefix
	marker   Marker
	size     int // of the annotations of the marker
	own, all int // of the annotations that stay as they are: this operator's, and all
	paused   bool
	cut      []string
}

// keep counts the annotations that a write of the marker leaves as they are.
func (f *fitting) keep(annotations map[string]string) {
	for key, value := range annotations {
		name, own := strings.CutPrefix(key, string(f.prefix)+"/")
		if own && name != KeyPaused && slices.Contains(markerKeys, name) {
			continue
		}
		f.all += len(key) + len(value)
		if own {
			f.own += len(key) + len(value)
			f.paused = f.paused || name == KeyPaused
		}
	}
}

func (f *fitting) measure(m Marker) int {
	m.Paused = m.Paused && !f.paused // counted already
	return Size(f.prefix.Render(m))
}

// give takes the smaller marker, if that gives up anything.
func (f *fitting) give(name string, smaller Marker) {
	if size := f.measure(smaller); size < f.size {
		f.marker, f.size, f.cut = smaller, size, append(f.cut, name)
	}
}

// givePayloads replaces payloads above the limit by notes, the largest first.
func (f *fitting) givePayloads(limit int, enough func() bool) {
	status := f.marker.Status
	ids := slices.SortedFunc(maps.Keys(status), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(status[b]), len(status[a])), cmp.Compare(a, b))
	})
	for _, id := range ids {
		if size := len(status[id]); size > max(limit, maxNote) && !enough() {
			f.give(KeyStatus+":"+id, f.marker.WithStatus(id, TooLarge(size)))
		}
	}
}

func (m Marker) mapRecords(change func(*Record)) Marker {
	if m.Progress == nil {
		return m
	}
	p := *m.Progress
	p.Handlers = maps.Clone(p.Handlers)
	for id, r := range p.Handlers {
		change(&r)
		p.Handlers[id] = r
	}
	m.Progress = &p
	return m
}

// maxNote is the size up to which a payload is never replaced by a note.
const maxNote = 64

// TooLarge is the note that stands in the status annotation where a payload of
// that many bytes did not fit.
func TooLarge(size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"dogear":"payload of %d bytes left out"}`, size))
}
