package storage

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

// leading are the names before the first list item.
func (p Path) leading() []string {
	var names []string
	for _, s := range p.segments {
		if s.key != "" {
			break
		}
		names = append(names, s.name)
	}
	return names
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
		m, _ := item.(map[string]any)
		if has, ok := m[key]; ok && isText(has, value) {
			return item, true
		}
	}
	return nil, false
}

// isText tells whether a string, number or truth value reads as text.
func isText(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case bool, int64, float64:
		return string(AppendCanonical(nil, v)) == text
	}
	return false
}
