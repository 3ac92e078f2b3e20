package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits in bytes.
const (
	// ServerLimit is what the API server accepts as the sum over the keys and
	// values of all annotations of an object.
	ServerLimit = 262144
	// DefaultMarkerLimit is the default of Budget.Marker.
	DefaultMarkerLimit = 64 << 10
	// DefaultPayloadLimit is the default of Budget.Payload.
	DefaultPayloadLimit = 16 << 10
	// MaxMessage bounds a record's message.
	MaxMessage = 1024
)

// ErrNoRoom tells that the annotations of an object leave no room for even the
// smallest marker. What to do: shrink the object's other annotations.
var ErrNoRoom = errors.New("no room under the limit of 262144 bytes of annotations")

// Budget bounds what one operator writes on one object, in bytes.
// The zero value means the defaults.
type Budget struct {
	Marker  int // keys and values of all annotations of this operator
	Payload int // one handler's payload in the status annotation
}

// WithDefaults fills in what is zero.
func (b Budget) WithDefaults() Budget {
	if b.Marker == 0 {
		b.Marker = DefaultMarkerLimit
	}
	if b.Payload == 0 {
		b.Payload = DefaultPayloadLimit
	}
	return b
}

// Size is the sum over keys and values, as the API server counts it.
func Size(annotations map[string]string) int {
	size := 0
	for key, value := range annotations {
		size += len(key) + len(value)
	}
	return size
}

// Fit returns the marker, made smaller where it has to be so that it and the
// other annotations of the object keep within the budget and the server's
// limit. It gives up, in this order: the base, the messages, who made the
// change, and the payloads, largest first, each of which leaves a note.
// cut names what was given up. It fails with ErrNoRoom if that is not enough.
func (b Budget) Fit(p Prefix, annotations map[string]string, m Marker) (fitted Marker, cut []string, err error) {
	b = b.WithDefaults()
	room := ServerLimit
	for key, value := range annotations {
		if !p.Owns(key) {
			room -= len(key) + len(value)
		}
	}
	fits := func() bool { return Size(p.Render(m)) <= min(room, b.Marker) }
	if fits() {
		return m, nil, nil
	}
	for _, give := range []struct {
		name  string
		apply func(Marker) Marker
	}{
		{KeyBase, func(m Marker) Marker { m.Base = ""; return m }},
		{"message", func(m Marker) Marker { return m.mapRecords(func(r *Record) { r.Message = "" }) }},
		{"by", func(m Marker) Marker { return m.mapRecords(func(r *Record) { r.By = "" }) }},
	} {
		m = give.apply(m)
		cut = append(cut, give.name)
		if fits() {
			return m, cut, nil
		}
	}
	for id := largestPayload(m.Status); id != ""; id = largestPayload(m.Status) {
		m = m.WithStatus(id, TooLarge(len(m.Status[id])))
		cut = append(cut, KeyStatus+":"+id)
		if fits() {
			return m, cut, nil
		}
	}
	return m, cut, ErrNoRoom
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

// largestPayload skips those that are only a note already.
func largestPayload(status map[string]json.RawMessage) string {
	largest := ""
	for id, payload := range status {
		if len(payload) <= maxNote {
			continue
		}
		if largest == "" || len(payload) > len(status[largest]) || (len(payload) == len(status[largest]) && id < largest) {
			largest = id
		}
	}
	return largest
}

// maxNote is the size up to which a payload is never replaced by a note.
const maxNote = 64

// TooLarge is the note that stands in the status annotation where a payload of
// that many bytes did not fit.
func TooLarge(size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"dogear":"payload of %d bytes left out"}`, size))
}

// CleanMessage makes an error text fit for a record: control characters and
// bytes that are no UTF-8 are replaced by spaces, and it is cut to MaxMessage
// bytes at a character's end.
func CleanMessage(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if len(text) <= MaxMessage {
		return text
	}
	end := MaxMessage - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
