package storage

import (
	"fmt"
	"strings"
)

// ParsePath reads the text form of a path. Segments are split by dots;
// ['name'] quotes a name with dots, [key=value] picks the item of a list.
func ParsePath(text string) (Path, error) {
	p := Path{text: text}
	rest := strings.TrimPrefix(text, ".")
	for rest != "" {
		parse := parseName
		if rest[0] == '[' {
			parse = parseBracket
		}
		s, after, err := parse(rest)
		if err == nil {
			after, err = parseDot(after)
		}
		if err != nil {
			return Path{}, fmt.Errorf("field path %q: %w", text, err)
		}
		p.segments, rest = append(p.segments, s), after
	}
	if len(p.segments) == 0 {
		return Path{}, fmt.Errorf("field path %q is empty: name a field, such as spec.dnsNames", text)
	}
	if p.segments[0].key != "" {
		return Path{}, fmt.Errorf("field path %q starts with a list item: start with a field, such as spec", text)
	}
	return p, nil
}

// parseName reads a name without quotes.
func parseName(rest string) (segment, string, error) {
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	name := rest[:end]
	switch {
	case name == "":
		return segment{}, "", fmt.Errorf("an empty name before %q", rest)
	case strings.ContainsAny(name, " \t\r\n*'\"]=/"):
		return segment{}, "", fmt.Errorf("%q is no plain name: quote it with its dots, as in ['example.com/size']", name)
	}
	return segment{name: name}, rest[end:], nil
}

// parseBracket reads ['name'] or [key=value].
func parseBracket(rest string) (segment, string, error) {
	if quote := rest[1:min(2, len(rest))]; quote == "'" || quote == `"` {
		name, after, ok := strings.Cut(rest[2:], quote+"]")
		if !ok || name == "" {
			return segment{}, "", fmt.Errorf("no name and closing %s] behind %q", quote, rest)
		}
		return segment{name: name}, after, nil
	}
	inner, after, ok := strings.Cut(rest[1:], "]")
	key, value, found := strings.Cut(inner, "=")
	if !ok || !found || key == "" {
		return segment{}, "", fmt.Errorf("%q is neither ['name'] nor [key=value]", rest)
	}
	if first := value[:min(1, len(value))]; first == "'" || first == `"` {
		if len(value) < 2 || !strings.HasSuffix(value, first) {
			return segment{}, "", fmt.Errorf("no closing %s behind %q", first, rest)
		}
		value = value[1 : len(value)-1]
	}
	return segment{key: key, value: value}, after, nil
}

// parseDot reads what stands between two segments: a dot, or nothing before a bracket.
func parseDot(rest string) (string, error) {
	switch {
	case rest == "" || rest[0] == '[':
		return rest, nil
	case rest[0] != '.':
		return "", fmt.Errorf("%q cannot follow a bracket", rest)
	case rest == "." || rest[1] == '[':
		return "", fmt.Errorf("a dot with no name behind it")
	}
	return rest[1:], nil
}
