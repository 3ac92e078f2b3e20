package storage

import (
	"slices"
	"strconv"
	"time"
)

// timeFormat keeps milliseconds: back-off may be shorter than a second.
const timeFormat = "2006-01-02T15:04:05.999Z07:00"

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
	for _, name := range sortedKeys(x) {
		o.raw(name, x[name])
	}
	return append(o.b, '}')
}

func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
