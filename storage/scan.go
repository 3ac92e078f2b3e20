package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// members walks over the members of a JSON object in one pass and without
// reflection: every decision starts with reading a marker. It relies on valid
// JSON, which openDocument and decodeStatus ascertain.
type members struct {
	rest  string // what comes after the last member
	name  string
	value string // the text of the value, without white space around it
}

// openObject stands before the first member of an object; ok is false for
// another kind of value.
func openObject(value string) (m members, ok bool) {
	value = skipSpace(value)
	if !strings.HasPrefix(value, "{") {
		return members{}, false
	}
	return members{rest: value[1:]}, true
}

// next goes to the next member; it is false at the end.
func (m *members) next() bool {
	m.rest = strings.TrimPrefix(skipSpace(m.rest), ",")
	m.rest = skipSpace(m.rest)
	if m.rest[0] == '}' {
		return false
	}
	end := valueEnd(m.rest)
	m.name = unquote(m.rest[:end])
	m.rest = skipSpace(m.rest[end:])[1:] // the colon
	m.rest = skipSpace(m.rest)
	end = valueEnd(m.rest)
	m.value, m.rest = m.rest[:end], m.rest[end:]
	return true
}

func skipSpace(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\n' || s[0] == '\t' || s[0] == '\r') {
		s = s[1:]
	}
	return s
}

// valueEnd is where the value ends that s starts with.
func valueEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			} else if depth < 0 {
				return i // of the object around a number, true, false or null
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// unquote reads a JSON string. Most have nothing to unescape.
func unquote(quoted string) string {
	inner := quoted[1 : len(quoted)-1]
	if !strings.Contains(inner, `\`) && utf8.ValidString(inner) {
		return inner
	}
	var text string
	_ = json.Unmarshal([]byte(quoted), &text) // it is valid
	return text
}

// validate keeps values of the annotation out of the error text.
func validate(text string) error {
	if json.Valid([]byte(text)) {
		return nil
	}
	var syntax *json.SyntaxError
	var v json.RawMessage
	if errors.As(json.Unmarshal([]byte(text), &v), &syntax) {
		return fmt.Errorf("no valid JSON at byte %d", syntax.Offset)
	}
	return errors.New("no valid JSON")
}
