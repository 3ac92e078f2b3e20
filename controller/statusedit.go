package controller

import (
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statusEdit collects the operations of one request to status. Each is made
// for what the ones before leave behind, so that several handlers can build
// the same new status together. Where something is built because it was
// missing, a guard fails the request if it has come up in the meantime.
type statusEdit struct {
	object map[string]any // as changed so far; what it shares is never changed
	ops    []operation
}

func editStatus(u *unstructured.Unstructured) *statusEdit { return &statusEdit{object: u.Object} }

// set puts a value at a path below status, whole. It says no where something
// on the way is no object.
func (e *statusEdit) set(path []string, value any) bool {
	if have, ok := nested(e.object, path); ok && sameJSON(have, value) {
		return true
	}
	full := append([]string{"status"}, path...)
	at := e.object
	for i, name := range full[:len(full)-1] {
		child, isMap := at[name].(map[string]any)
		switch {
		case isMap:
			at = child
			continue
		case at[name] != nil:
			return false
		}
		built := value
		for j := len(full) - 1; j > i; j-- {
			built = map[string]any{full[j]: built}
		}
		e.ops = append(e.ops, test(pointer(full[:i+1]...), null{}), add(pointer(full[:i+1]...), built))
		e.object = with(e.object, full, value)
		return true
	}
	e.ops = append(e.ops, add(pointer(full...), value))
	e.object = with(e.object, full, value)
	return true
}

// remove takes away what is at a path below status.
func (e *statusEdit) remove(path []string) {
	if _, ok := nested(e.object, path); !ok {
		return
	}
	full := append([]string{"status"}, path...)
	e.ops = append(e.ops, remove(pointer(full...)))
	e.object = with(e.object, full, nil)
}

// setCondition puts a condition among those of others. What is unchanged is
// no reason to write.
func (e *statusEdit) setCondition(c map[string]any) {
	list, _ := nested(e.object, conditions)
	items, _ := list.([]any)
	for i, item := range items {
		have, _ := item.(map[string]any)
		if have["type"] != c["type"] {
			continue
		}
		if have["status"] == c["status"] && have["reason"] == c["reason"] && have["message"] == c["message"] {
			return
		}
		if have["status"] == c["status"] && have["lastTransitionTime"] != nil {
			c["lastTransitionTime"] = have["lastTransitionTime"]
		}
		path := "/status/conditions/" + strconv.Itoa(i)
		e.ops = append(e.ops, test(path+"/type", c["type"]), replace(path, c))
		after := append([]any(nil), items...)
		after[i] = c
		e.object = with(e.object, append([]string{"status"}, conditions...), after)
		return
	}
	// An owner that starts its list now must not lose it.
	if status, ok := e.object["status"].(map[string]any); ok {
		if status["conditions"] == nil {
			e.ops = append(e.ops, test("/status/conditions", null{}))
		} else {
			e.ops = append(e.ops, test("/status/conditions", items))
		}
	}
	e.set(conditions, append(append([]any{}, items...), c))
}

var conditions = []string{"conditions"}

// with returns a copy of m that has a value at the path; nil removes it.
func with(m map[string]any, path []string, value any) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	switch {
	case len(path) > 1:
		child, _ := out[path[0]].(map[string]any)
		out[path[0]] = with(child, path[1:], value)
	case value == nil:
		delete(out, path[0])
	default:
		out[path[0]] = value
	}
	return out
}

// owned tells whether a field manager's entry (FieldsV1) has set something at
// the path: the value there, or a whole that it is part of.
func owned(entry map[string]any, path []string) bool {
	for _, name := range path {
		child, ok := entry["f:"+name].(map[string]any)
		if !ok {
			return false
		}
		if len(child) == 0 {
			return true // all below it
		}
		entry = child
	}
	return true
}
