package storage

import (
	"fmt"
	"strconv"
	"time"
)

// decoder reads the members of a document. The first fault stays in err.
type decoder struct{ err error }

func (d *decoder) fault(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// object stands before the first member of an object. what names it, as its
// own name may be a handler's ID.
func (d *decoder) object(m members, what string) members {
	o, ok := openObject(m.value)
	if ok {
		return o
	}
	if m.value != "null" {
		d.fault("%s: want an object", what)
	}
	return members{rest: "}"}
}

func (d *decoder) text(m members) string {
	if m.value[0] == '"' {
		return unquote(m.value)
	}
	if m.value != "null" {
		d.fault("%s: want a string", m.name)
	}
	return ""
}

func (d *decoder) number(m members) int64 {
	if m.value == "null" {
		return 0
	}
	n, err := strconv.ParseInt(m.value, 10, 64)
	if err != nil {
		d.fault("%s: want a whole number", m.name)
	}
	return n
}

func (d *decoder) truth(m members) bool {
	if m.value != "true" && m.value != "false" && m.value != "null" {
		d.fault("%s: want true or false", m.name)
	}
	return m.value == "true"
}

// time keeps what timeFormat keeps, so that a rendered time reads the same.
func (d *decoder) time(m members) time.Time {
	text := d.text(m)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC().Truncate(time.Millisecond)
	if err != nil || t.Year() < 0 || t.Year() > 9999 {
		d.fault("%s: want a time as in RFC 3339 with an offset", m.name)
		return time.Time{}
	}
	return t
}
