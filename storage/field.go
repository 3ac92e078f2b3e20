package storage

import (
	"fmt"
	"strings"
)

// Path names a field of an object, such as "spec.dnsNames",
// "metadata.annotations['example.com/size']" or
// "status.conditions[type=Ready].status".
type Path struct {
	text     string
	segments []segment
}

// segment is a member of an object, or the item of a list whose key has a value.
type segment struct {
	name       string
	key, value string // set for an item of a list
}

// ParsePath reads the text form of a path. Segments are split by dots;
// ['name'] quotes a name with dots, [key=value] picks the item of a list.
func ParsePath(text string) (Path, error) {
	p := Path{text: text}
	rest := strings.TrimPrefix(text, ".")
	for rest != "" {
		var (
			s   segment
			err error
		)
		if strings.HasPrefix(rest, "[") {
			s, rest, err = parseBracket(rest)
		} else {
			s, rest, err = parseName(rest)
		}
		if err != nil {
			return Path{}, fmt.Errorf("field path %q: %w", text, err)
		}
		p.segments = append(p.segments, s)
	}
	if len(p.segments) == 0 {
		return Path{}, fmt.Errorf("field path %q is empty: name a field, such as spec.dnsNames", text)
	}
	if p.segments[0].key != "" {
		return Path{}, fmt.Errorf("field path %q starts with a list item: start with a field, such as spec", text)
	}
	return p, nil
}

func parseName(rest string) (segment, string, error) {
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return segment{}, "", fmt.Errorf("an empty name before %q", rest)
	}
	s := segment{name: rest[:end]}
	rest = rest[end:]
	if strings.HasPrefix(rest, ".") {
		if rest = rest[1:]; rest == "" || rest[0] == '[' {
			return segment{}, "", fmt.Errorf("a dot with no name behind it")
		}
	}
	return s, rest, nil
}

func parseBracket(rest string) (segment, string, error) {
	var s segment
	if strings.HasPrefix(rest, "['") {
		name, after, ok := strings.Cut(rest[2:], "']")
		if !ok || name == "" {
			return s, "", fmt.Errorf("no closing '] behind %q", rest)
		}
		s.name, rest = name, after
	} else {
		inner, after, ok := strings.Cut(rest[1:], "]")
		key, value, found := strings.Cut(inner, "=")
		if !ok || !found || key == "" {
			return s, "", fmt.Errorf("%q is neither ['name'] nor [key=value]", rest)
		}
		s.key, s.value, rest = key, strings.Trim(value, `'"`), after
	}
	switch {
	case rest == "" || rest[0] == '[':
		return s, rest, nil
	case rest[0] == '.' && len(rest) > 1 && rest[1] != '.' && rest[1] != '[':
		return s, rest[1:], nil
	}
	return s, "", fmt.Errorf("%q cannot follow a bracket", rest)
}

// String is the text that the path was read from.
func (p Path) String() string { return p.text }

// Root is the first name of the path: "spec", "status", "metadata", "data".
func (p Path) Root() string {
	if len(p.segments) == 0 {
		return ""
	}
	return p.segments[0].name
}

// Names are the segments of a path without list items; ok is false where it has one.
func (p Path) Names() (names []string, ok bool) {
	for _, s := range p.segments {
		if s.key != "" {
			return nil, false
		}
		names = append(names, s.name)
	}
	return names, true
}

// Get returns the value at the path, and whether there is one.
func (p Path) Get(object map[string]any) (any, bool) {
	var v any = object
	for _, s := range p.segments {
		if s.key == "" {
			m, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			if v, ok = m[s.name]; !ok {
				return nil, false
			}
			continue
		}
		item, ok := findItem(v, s.key, s.value)
		if !ok {
			return nil, false
		}
		v = item
	}
	return v, v != nil
}

func findItem(list any, key, value string) (any, bool) {
	items, _ := list.([]any)
	for _, item := range items {
		m, ok := item.(map[string]any)
		if ok && fmt.Sprint(m[key]) == value {
			return item, true
		}
	}
	return nil, false
}
