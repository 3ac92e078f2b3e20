package handler

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Changes lists the differences of two essences, sorted by path, as
// Request.Changes has them. Maps are compared member by member, also where one
// is new or gone; lists are compared as a whole. null is the same as absent,
// and 1 the same as 1.0. A name that is no plain word is quoted:
// metadata.labels['example.com/size']. The values are copies.
func Changes(old, new map[string]any) []Change {
	changes := appendChanges(nil, "", old, new)
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}

func appendChanges(changes []Change, path string, old, new map[string]any) []Change {
	for key := range union(old, new) {
		before, after := old[key], new[key]
		if equal(before, after) {
			continue
		}
		at := join(path, key)
		from, ok := before.(map[string]any)
		to, ok2 := after.(map[string]any)
		if (ok || before == nil) && (ok2 || after == nil) && len(from)+len(to) > 0 {
			changes = appendChanges(changes, at, from, to)
		} else {
			changes = append(changes, Change{Path: at, Old: copyValue(before), New: copyValue(after)})
		}
	}
	return changes
}

// union has the keys of both.
func union(a, b map[string]any) map[string]any {
	both := make(map[string]any, len(a)+len(b))
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}

// join appends a name to a path, in the words of Spec.Fields.
func join(path, name string) string {
	if name == "" || strings.ContainsAny(name, " \t\r\n.*'\"[]=/") {
		quote := "'"
		if strings.Contains(name, "'") {
			quote = `"`
		}
		return path + "[" + quote + name + quote + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for key := range union(a, b) {
			if !equal(a[key], b[key]) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	return reflect.DeepEqual(number(a), number(b))
}

// number is v; a number without a fraction as an int64 where it fits.
func number(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case float64:
		if v == math.Trunc(v) && v >= math.MinInt64 && v < -math.MinInt64 {
			return int64(v)
		}
	}
	return v
}
