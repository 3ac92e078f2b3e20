package controller

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitzero"`
}

// null is a value that is encoded where a nil would be left out.
type null struct{}

func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func test(path string, value any) operation    { return operation{"test", path, value} }
func add(path string, value any) operation     { return operation{"add", path, value} }
func replace(path string, value any) operation { return operation{"replace", path, value} }
func remove(path string) operation             { return operation{Op: "remove", Path: path} }

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// pointer builds a JSON pointer (RFC 6901).
func pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(pointerEscaper.Replace(name))
	}
	return b.String()
}

// testUID guards a write against an object that was re-created under the same
// name. It also works on /status, where a uid in a merge patch is ignored.
func testUID(uid types.UID) operation { return test("/metadata/uid", string(uid)) }

// markerOps turn the marker that the object carries into another. They fail as
// a whole if somebody else changed what the decision rests on.
func markerOps(present bool, changes []storage.Change) []operation {
	if len(changes) == 0 {
		return nil
	}
	if !present {
		all := map[string]string{}
		for _, c := range changes {
			if !c.Same {
				all[c.Key] = c.New
			}
		}
		return []operation{test("/metadata/annotations", null{}), add("/metadata/annotations", all)}
	}
	var guards, edits []operation
	for _, c := range changes {
		path := pointer("metadata", "annotations", c.Key)
		if c.Was {
			guards = append(guards, test(path, c.Old))
		} else {
			guards = append(guards, test(path, null{}))
		}
		switch {
		case c.Same:
		case c.New == "":
			if c.Was {
				edits = append(edits, remove(path))
			}
		default:
			edits = append(edits, add(path, c.New))
		}
	}
	return append(guards, edits...)
}

// finalizerOps edit the list by index, so that entries of others survive:
// a list that moved in the meantime fails the test. To take ours off may delete
// the object, so that is done only to the version that it was decided on.
func finalizerOps(version string, finalizers []string, ours string, change plan.Finalizer) []operation {
	switch i := slices.Index(finalizers, ours); {
	case change == plan.Add && i < 0 && len(finalizers) == 0:
		return []operation{test("/metadata/finalizers", null{}), add("/metadata/finalizers", []string{ours})}
	case change == plan.Add && i < 0:
		return []operation{add("/metadata/finalizers/-", ours)}
	case change == plan.Remove && i >= 0:
		path := "/metadata/finalizers/" + strconv.Itoa(i)
		return []operation{test("/metadata/resourceVersion", version), test(path, ours), remove(path)}
	}
	return nil
}

// objectOps turn one object into another, leaving out status and the marker.
// They are guarded by the version that they were made for.
func objectOps(before, after *unstructured.Unstructured) ([]operation, error) {
	a, err := json.Marshal(before.Object)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(after.Object)
	if err != nil {
		return nil, err
	}
	steps, err := jsonpatch.CreatePatch(a, b)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	ops := []operation{test("/metadata/resourceVersion", before.GetResourceVersion())}
	for _, step := range steps {
		op := operation{Op: step.Operation, Path: step.Path, Value: step.Value}
		if step.Value == nil && step.Operation != "remove" {
			op.Value = null{}
		}
		ops = append(ops, op)
	}
	return ops, nil
}
