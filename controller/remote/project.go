package remote

import (
	"fmt"
	"slices"

	"github.com/dogear-dev/dogear/storage"
)

// always are the fields of metadata that a projection never leaves out.
var always = []string{"name", "namespace", "uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp"}

// parseProjection reads paths to the names that lead to a field. A field inside
// another one is left out: it is sent with that.
func parseProjection(paths []string) ([][]string, error) {
	var fields [][]string
	for _, text := range paths {
		path, err := storage.ParsePath(text)
		if err != nil {
			return nil, fmt.Errorf("projection: %w", err)
		}
		names, ok := path.Names()
		if !ok {
			return nil, fmt.Errorf("projection: %q picks an item of a list: want a field, lists are sent whole", text)
		}
		fields = append(fields, names)
	}
	slices.SortFunc(fields, slices.Compare)
	var outer [][]string
	for _, names := range fields { // an outer field sorts before those inside it
		if len(outer) == 0 || !projects(outer, names) {
			outer = append(outer, names)
		}
	}
	return outer, nil
}

// project is an object with these fields only, and what names it; none: all.
func project(object map[string]any, fields [][]string) map[string]any {
	if len(fields) == 0 {
		return object
	}
	projected := map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"]}
	for _, name := range always {
		copyField(projected, object, []string{"metadata", name})
	}
	for _, field := range fields {
		copyField(projected, object, field)
	}
	return projected
}

// copyField copies the field that the names lead to, if it is there. Maps on
// the way are made anew: those of the object are shared.
func copyField(to, from map[string]any, names []string) {
	name := names[0]
	value, ok := from[name]
	if !ok {
		return
	}
	if len(names) == 1 {
		to[name] = value
		return
	}
	child, ok := value.(map[string]any)
	if !ok {
		return
	}
	into, ok := to[name].(map[string]any)
	if !ok {
		into = map[string]any{}
	}
	if copyField(into, child, names[1:]); len(into) > 0 {
		to[name] = into
	}
}

// projects tells whether a change at these names lies in one of the fields.
func projects(fields [][]string, names []string) bool {
	return len(fields) == 0 || slices.ContainsFunc(fields, func(field []string) bool {
		return len(names) >= len(field) && slices.Equal(names[:len(field)], field)
	})
}

// namesOf are the names that the path of a change leads by; none: unreadable.
func namesOf(text string) []string {
	path, err := storage.ParsePath(text)
	if err != nil {
		return nil
	}
	names, _ := path.Names()
	return names
}
