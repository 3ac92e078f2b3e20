package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNewer is the cause of a FormatError where the document was written by a
// newer release: it must be left alone.
var ErrNewer = errors.New("written by a newer release of Dogear")

// FormatError tells which annotation could not be read, and why. Its text
// never repeats the annotation's value.
type FormatError struct {
	Key string
	Err error
}

func (e *FormatError) Error() string { return fmt.Sprintf("annotation %s: %v", e.Key, e.Err) }

// Unwrap returns the reason.
func (e *FormatError) Unwrap() error { return e.Err }

// Read reads the marker of this prefix from the annotations of an object.
// What can be read is returned also with an error, which joins one
// *FormatError for each annotation that could not be.
func (p Prefix) Read(annotations map[string]string) (Marker, error) {
	var (
		m    Marker
		errs []error
	)
	for key, value := range annotations {
		if !p.Owns(key) {
			continue
		}
		if err := m.read(key[len(p)+1:], value); err != nil {
			errs = append(errs, &FormatError{Key: key, Err: err})
		}
	}
	return m, errors.Join(errs...)
}

func (m *Marker) read(name, value string) error {
	switch name {
	case KeyState:
		m.State = State(value)
	case KeyHandled:
		h, err := decodeHandled(value)
		m.Handled = h
		return err
	case KeyProgress:
		p, err := decodeProgress(value)
		m.Progress = p
		return err
	case KeyStatus:
		s, err := decodeStatus(value)
		m.Status = s
		return err
	case KeyBase:
		m.Base = value
	case KeyRetry:
		m.Retry = value
	case KeyPaused:
		paused, err := parsePaused(value)
		m.Paused = paused
		return err
	}
	return nil
}

// parsePaused errs on the side of the person who asked for a pause.
func parsePaused(value string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	}
	return true, errors.New(`want "true" or "false"; taken as "true"`)
}

func decodeHandled(value string) (*Handled, error) {
	var h Handled
	x, err := decodeDocument(value, &h.Identity)
	if err != nil {
		return nil, err
	}
	var by map[string]extra
	x.take("essence", &h.Essence, &err)
	x.take("generation", &h.Generation, &err)
	x.take("by", &by, &err)
	h.extra = x.rest()
	h.By = make(map[string]Entry, len(by))
	for id, fields := range by {
		var e Entry
		fields.take("digest", &e.Digest, &err)
		fields.take("revision", &e.Revision, &err)
		e.extra = fields.rest()
		h.By[id] = e
	}
	if err != nil {
		return nil, err
	}
	return &h, nil
}

func decodeProgress(value string) (*Progress, error) {
	var p Progress
	x, err := decodeDocument(value, &p.Identity)
	if err != nil {
		return nil, err
	}
	var handlers map[string]extra
	x.take("handlers", &handlers, &err)
	p.extra = x.rest()
	p.Handlers = make(map[string]Record, len(handlers))
	for id, fields := range handlers {
		p.Handlers[id] = decodeRecord(fields, &err)
	}
	if err != nil {
		return nil, err
	}
	if len(p.Handlers) == 0 {
		return nil, nil
	}
	return &p, nil
}

func decodeRecord(x extra, err *error) Record {
	var r Record
	x.take("cause", &r.Cause, err)
	x.take("state", &r.State, err)
	x.take("essence", &r.Essence, err)
	x.take("attempts", &r.Attempts, err)
	x.take("claimed", &r.Claimed, err)
	x.takeTime("started", &r.Started, err)
	x.takeTime("next", &r.Next, err)
	x.take("reason", &r.Reason, err)
	x.take("message", &r.Message, err)
	x.take("by", &r.By, err)
	x.take("revision", &r.Revision, err)
	r.extra = x.rest()
	if r.Attempts < 0 && *err == nil {
		*err = fmt.Errorf("attempts is negative")
	}
	return r
}

func decodeStatus(value string) (map[string]json.RawMessage, error) {
	var s map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &s); err != nil {
		return nil, describe(err)
	}
	if len(s) == 0 {
		return nil, nil
	}
	return s, nil
}

// decodeDocument reads the members of a versioned document, and takes the
// version and the identity from them.
func decodeDocument(value string, identity *Identity) (extra, error) {
	var x extra
	if err := json.Unmarshal([]byte(value), &x); err != nil {
		return nil, describe(err)
	}
	if x == nil {
		return nil, errors.New("want a JSON object")
	}
	var (
		version int
		object  extra
		err     error
	)
	x.take("v", &version, &err)
	if version > Version {
		return nil, fmt.Errorf("version %d: %w", version, ErrNewer)
	}
	if err == nil && version < 1 {
		return nil, errors.New("no version")
	}
	x.take("uid", &identity.UID, &err)
	x.take("object", &object, &err)
	object.take("namespace", &identity.Namespace, &err)
	object.take("name", &identity.Name, &err)
	object.take("kind", &identity.Kind, &err)
	return x, err
}

// take moves one member into target. The first fault stays in err.
func (x extra) take(name string, target any, err *error) {
	text, ok := x[name]
	if !ok {
		return
	}
	delete(x, name)
	if e := json.Unmarshal(text, target); e != nil && *err == nil {
		*err = fmt.Errorf("%s: %w", name, describe(e))
	}
}

func (x extra) takeTime(name string, target *time.Time, err *error) {
	var text string
	if x.take(name, &text, err); text == "" {
		return
	}
	t, e := time.Parse(time.RFC3339Nano, text)
	if e != nil && *err == nil {
		*err = fmt.Errorf("%s: want a time as in RFC 3339 with an offset", name)
	}
	*target = t
}

func (x extra) rest() extra {
	if len(x) == 0 {
		return nil
	}
	return x
}

// describe keeps values of the annotation out of error texts.
func describe(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("want %s, got %s", kind.Type, strings.Fields(kind.Value)[0])
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("no valid JSON at byte %d", syntax.Offset)
	}
	return errors.New("no valid JSON")
}
