package uninstall

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value,omitempty"`
}

// patchOf is what takes everything of the service off an object; nil: there is
// nothing. It fails as a whole where the object is another one by now, or where
// somebody has moved the entries of the list, so that no other owner's is lost.
func (t target) patchOf(m *metav1.PartialObjectMetadata) []byte {
	var edits []operation
	for i, finalizer := range slices.Backward(m.Finalizers) { // the last first: it moves no other
		if finalizer == t.finalizer {
			path := "/metadata/finalizers/" + strconv.Itoa(i)
			edits = append(edits, operation{"test", path, finalizer}, operation{Op: "remove", Path: path})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		if t.owns(key) {
			edits = append(edits, operation{Op: "remove", Path: "/metadata/annotations/" + pointer.Replace(key)})
		}
	}
	if edits == nil {
		return nil
	}
	body, err := json.Marshal(append([]operation{{"test", "/metadata/uid", string(m.UID)}}, edits...))
	if err != nil {
		panic(err) // it is made of strings
	}
	return body
}

// pointer escapes a name for a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// owns tells whether an annotation is to be removed.
func (t target) owns(key string) bool { return t.prefix != "" && t.prefix.Owns(key) }

// held tells whether an object has the finalizer.
func (t target) held(m *metav1.PartialObjectMetadata) bool {
	return slices.Contains(m.Finalizers, t.finalizer)
}

// marked tells whether an object has annotations that are to be removed.
func (t target) marked(m *metav1.PartialObjectMetadata) bool {
	for key := range m.Annotations {
		if t.owns(key) {
			return true
		}
	}
	return false
}
