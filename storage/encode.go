package storage

import "encoding/json"

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
	o := writeDocument(h.Identity, h.bound)
	o.text("essence", h.Essence)
	o.number("generation", h.Generation)
	o.key("by")
	by := object{b: append(o.b, '{')}
	for _, id := range sortedKeys(h.By) {
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
	o := writeDocument(p.Identity, p.bound)
	o.key("handlers")
	handlers := object{b: append(o.b, '{')}
	for _, id := range sortedKeys(p.Handlers) {
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
	o.text("completion", r.Completion)
	return o.close(r.extra)
}

func statusText(status map[string]json.RawMessage) string {
	if len(status) == 0 {
		return ""
	}
	o := object{b: []byte{'{'}}
	for _, id := range sortedKeys(status) {
		o.raw(id, status[id])
	}
	return string(o.close(nil))
}

func writeDocument(i Identity, x extra) object {
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
	o.b = bound.close(x)
	return o
}

// Equal tells whether two markers render to the same annotations.
func (m Marker) Equal(other Marker) bool {
	for _, name := range markerKeys {
		if m.text(name) != other.text(name) {
			return false
		}
	}
	return true
}
