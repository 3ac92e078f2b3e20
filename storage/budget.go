package storage

import "errors"

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
