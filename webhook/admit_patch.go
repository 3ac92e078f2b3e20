package webhook

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitzero"`
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(pointerEscaper.Replace(name))
	}
	return b.String()
}

// annotationOps turn our annotations among have into want, in a fixed order.
func annotationOps(prefix storage.Prefix, have, want map[string]string) []operation {
	if len(have) == 0 {
		if len(want) == 0 {
			return nil
		}
		return []operation{{Op: "add", Path: "/metadata/annotations", Value: want}}
	}
	var ops []operation
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if _, keep := want[key]; !keep && prefix.Owns(key) {
			ops = append(ops, operation{Op: "remove", Path: pointer("metadata", "annotations", key)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if value, ok := have[key]; !ok || value != want[key] {
			ops = append(ops, operation{Op: "add", Path: pointer("metadata", "annotations", key), Value: want[key]})
		}
	}
	return ops
}

func addFinalizer(have []string, ours string) operation {
	if len(have) == 0 {
		return operation{Op: "add", Path: "/metadata/finalizers", Value: []string{ours}}
	}
	return operation{Op: "add", Path: "/metadata/finalizers/-", Value: ours}
}

func finalizerOps(have []string, ours string, change plan.Finalizer) []operation {
	i := slices.Index(have, ours)
	switch {
	case change == plan.Add && i < 0:
		return []operation{addFinalizer(have, ours)}
	case change == plan.Remove && i >= 0:
		return []operation{{Op: "remove", Path: "/metadata/finalizers/" + strconv.Itoa(i)}}
	}
	return nil
}

// additions are the steps that add what after has and before lacks.
func additions(path []string, before, after map[string]any) []operation {
	var ops []operation
	for _, key := range slices.Sorted(maps.Keys(after)) {
		at := append(slices.Clone(path), key)
		old, ok := before[key]
		child, isMap := after[key].(map[string]any)
		if after[key] == nil {
			continue // a null that was there
		}
		if !ok || old == nil {
			ops = append(ops, operation{Op: "add", Path: pointer(at...), Value: after[key]})
		} else if deeper, ok := old.(map[string]any); ok && isMap {
			ops = append(ops, additions(at, deeper, child)...)
		}
	}
	return ops
}
