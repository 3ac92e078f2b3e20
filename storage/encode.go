package storage

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// timeFormat keeps milliseconds: back-off may be shorter than a second.
const timeFormat = "2006-01-02T15:04:05.999Z07:00"

// Render returns the annotations of the marker, by full key. Equal markers
// give equal texts.
func (p Prefix) Render(m Marker) map[string]string {
	out := make(map[string]string, 4)
	for _, name := range markerKeys {
		if text := m.text(name); text != "" {
			out[p.Key(name)] = text
		}
	}
	return out
}

// Change is what has to be written to turn one marker into another.
type Change struct {
	Key  string // full annotation key
	Old  string // the text that is there now; meaningless unless Was
	Was  bool   // whether there is one
	New  string // the text to write; empty: remove it
	Same bool   // no change: the key only guards the write
}

// Changes returns what has to be written so that annotations, from which the
// marker old was read, carry the marker new instead. A document that says the
// same in other words is left as it is. The documents that decisions rest on
// (handled, progress) are part of a non-empty answer also where they stay,
// marked Same, as a guard.
func (p Prefix) Changes(annotations map[string]string, old, new Marker) []Change {
	var (
		changes []Change
		any     bool
	)
	for _, name := range markerKeys {
		if name == KeyPaused {
			continue // the user's alone
		}
		key := p.Key(name)
		text, was := annotations[key]
		c := Change{Key: key, Old: text, Was: was}
		before, after := old.text(name), new.text(name)
		c.Same = before == after && (was == (after != ""))
		if !c.Same {
			c.New, any = after, true
		} else if name != KeyHandled && name != KeyProgress {
			continue
		}
		changes = append(changes, c)
	}
	if !any {
		return nil
	}
	return changes
}

// text is the value of one annotation; empty: none.
func (m Marker) text(name string) string {
	switch name {
	case KeyState:
		return string(m.State)
	case KeyHandled:
		return m.Handled.text()
	case KeyProgress:
		return m.Progress.text()
	case KeyStatus:
		return statusText(m.Status)
	case KeyBase:
		return m.Base
	case KeyRetry:
		return m.Retry
	case KeyPaused:
		if m.Paused {
			return "true"
		}
	}
	return ""
}

func (h *Handled) text() string {
	if h == nil {
		return ""
	}
	o := openDocument(h.Identity)
	o.text("essence", h.Essence)
	o.number("generation", h.Generation)
	o.key("by")
	by := object{b: append(o.b, '{')}
	for _, id := range slices.Sorted(maps.Keys(h.By)) {
		e := h.By[id]
		by.key(id)
		entry := object{b: append(by.b, '{')}
		entry.text("digest", e.Digest)
		entry.number("revision", e.Revision)
		by.b = entry.close(e.extra)
	}
	o.b = by.close(nil)
	return string(o.close(h.extra))
}

func (p *Progress) text() string {
	if p == nil || len(p.Handlers) == 0 {
		return ""
	}
	o := openDocument(p.Identity)
	o.key("handlers")
	handlers := object{b: append(o.b, '{')}
	for _, id := range slices.Sorted(maps.Keys(p.Handlers)) {
		handlers.key(id)
		handlers.b = p.Handlers[id].append(handlers.b)
	}
	o.b = handlers.close(nil)
	return string(o.close(p.extra))
}

func (r Record) append(b []byte) []byte {
	o := object{b: append(b, '{')}
	o.text("cause", string(r.Cause))
	o.text("state", string(r.State))
	o.text("essence", r.Essence)
	o.number("attempts", int64(r.Attempts))
	if r.Claimed {
		o.raw("claimed", []byte("true"))
	}
	o.time("started", r.Started)
	o.time("next", r.Next)
	o.text("reason", r.Reason)
	o.text("message", r.Message)
	o.text("by", r.By)
	o.number("revision", r.Revision)
	return o.close(r.extra)
}

func statusText(status map[string]json.RawMessage) string {
	if len(status) == 0 {
		return ""
	}
	o := object{b: []byte{'{'}}
	for _, id := range slices.Sorted(maps.Keys(status)) {
		o.raw(id, status[id])
	}
	return string(o.close(nil))
}

func openDocument(i Identity) object {
	o := object{b: make([]byte, 0, 256)}
	o.b = append(o.b, '{')
	o.number("v", Version)
	if i.UID != "" {
		o.text("uid", i.UID)
		return o
	}
	o.key("object")
	bound := object{b: append(o.b, '{')}
	bound.text("namespace", i.Namespace)
	bound.text("name", i.Name)
	bound.text("kind", i.Kind)
	o.b = bound.close(nil)
	return o
}

// object writes the members of a JSON object, leaving out empty ones.
type object struct {
	b    []byte
	some bool
}

func (o *object) key(name string) {
	if o.some {
		o.b = append(o.b, ',')
	}
	o.some = true
	o.b = append(appendString(o.b, name), ':')
}

func (o *object) text(name, value string) {
	if value != "" {
		o.key(name)
		o.b = appendString(o.b, value)
	}
}

func (o *object) number(name string, value int64) {
	if value != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, value, 10)
	}
}

func (o *object) time(name string, value time.Time) {
	if !value.IsZero() {
		o.text(name, value.UTC().Truncate(time.Millisecond).Format(timeFormat))
	}
}

func (o *object) raw(name string, value []byte) {
	o.key(name)
	o.b = append(o.b, value...)
}

func (o *object) close(x extra) []byte {
	for _, name := range slices.Sorted(maps.Keys(x)) {
		o.raw(name, x[name])
	}
	return append(o.b, '}')
}
