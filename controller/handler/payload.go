package handler

import (
	"encoding/json"
	"fmt"
	"maps"

	apijson "sigs.k8s.io/json"
)

// plainValue is the payload as an unstructured object holds it: integers that
// fit are int64, all other numbers float64. nil is none.
func plainValue(payload any) (plain any, err error) {
	if payload == nil {
		return nil, nil
	}
	defer func() {
		if p := RecoverPanic(recover()); p != nil { // of the payload's own MarshalJSON
			plain, err = nil, badPayload(payload, p)
		}
	}()
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, badPayload(payload, err)
	}
	if err := apijson.UnmarshalCaseSensitivePreserveInts(text, &plain); err != nil {
		return nil, badPayload(payload, err)
	}
	return plain, nil
}

func badPayload(payload any, err error) error {
	return fmt.Errorf("payload of type %T does not encode to JSON: %w", payload, err)
}

// mergePayloads lays b over a: objects merge by key, all else is replaced.
func mergePayloads(a, b any) any {
	if b == nil {
		return a
	}
	over, ok := b.(map[string]any)
	under, ok2 := a.(map[string]any)
	if !ok || !ok2 {
		return b
	}
	merged := maps.Clone(under)
	for key, value := range over {
		merged[key] = mergePayloads(merged[key], value)
	}
	return merged
}

// copyValue is a copy of what an unstructured object holds.
func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = copyValue(item)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = copyValue(item)
		}
		return list
	}
	return v
}
