package storage

import (
	"errors"
	"fmt"
	"strings"
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
	for _, name := range markerKeys {
		value, ok := annotations[string(p)+"/"+name]
		if !ok {
			continue
		}
		if err := m.read(name, value); err != nil {
			errs = append(errs, &FormatError{Key: p.Key(name), Err: err})
		}
	}
	return m, errors.Join(errs...)
}

func (m *Marker) read(name, value string) (err error) {
	switch name {
	case KeyState:
		m.State = State(value)
	case KeyHandled:
		m.Handled, err = decodeHandled(value)
	case KeyProgress:
		m.Progress, err = decodeProgress(value)
	case KeyStatus:
		m.Status, err = decodeStatus(value)
	case KeyBase:
		m.Base = value
	case KeyRetry:
		m.Retry = value
	case KeyPaused:
		m.Paused, err = parsePaused(value)
	}
	return err
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
