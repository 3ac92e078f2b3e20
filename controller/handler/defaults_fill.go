package handler

import "k8s.io/apimachinery/pkg/runtime"

// FillAbsent sets in an object what of values it has not, by the rules of
// [Defaults], except that a null in the object stays: where the API server
// lets one through to admission, it means something. values are copied.
// Engines call it; handlers' authors have no use for it.
func FillAbsent(object, values map[string]any) {
	fill(object, nil, settable(runtime.DeepCopyJSON(values)), true)
}

// fill copies into target what after has and target does not. before tells
// what the typed round trip alone makes up, which is no one's wish. A typed
// object has no null, so a function for defaults cannot mean to keep one.
func fill(target, before, after map[string]any, nullStays bool) {
	for key, value := range after {
		have, there := target[key]
		if value == nil || have == nil && (there && nullStays || equal(before[key], value)) {
			continue
		}
		child, isMap := value.(map[string]any)
		into, ok := have.(map[string]any)
		switch {
		case isMap && (ok || have == nil):
			if into == nil {
				into = map[string]any{}
			}
			deeper, _ := before[key].(map[string]any)
			if fill(into, deeper, child, nullStays); len(into) > 0 || len(child) == 0 {
				target[key] = into
			}
		case have == nil:
			target[key] = value
		}
	}
}
