package controller

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// merged returns a copy of the object with a JSON merge patch (RFC 7386)
// applied. What the patch does not touch is shared with the original.
func merged(u *unstructured.Unstructured, patch map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: mergeMap(u.Object, patch)}
}

func mergeMap(target, patch map[string]any) map[string]any {
	out := maps.Clone(target)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			child, _ := out[key].(map[string]any)
			out[key] = mergeMap(child, value)
		default:
			out[key] = value
		}
	}
	return out
}
