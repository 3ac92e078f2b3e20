package check

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/published"
)

// minimal is an object with what its schema asks for, and what the set selects
// by; nil: there is no namespace for it. Whether the API server takes it, only
// it can tell.
func (s *selector) minimal(d *published.Document, res *resource) *unstructured.Unstructured {
	root := d.Resolve(d.Root)
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for _, name := range root.Required {
		if name != "apiVersion" && name != "kind" && name != "metadata" && name != "status" {
			o.Object[name] = fill(d, root.Properties[name], 0)
		}
	}
	o.SetGroupVersionKind(res.kind)
	o.SetName(probeName())
	if res.namespaced {
		if len(s.places) == 0 {
			return nil
		}
		o.SetNamespace(s.places[0])
		if slices.Contains(s.places, metav1.NamespaceDefault) {
			o.SetNamespace(metav1.NamespaceDefault)
		}
	}
	if s.match.LabelSelector != nil {
		o.SetLabels(s.match.LabelSelector.MatchLabels)
	}
	annotations := map[string]string{}
	for _, a := range s.match.Annotations {
		if a.Value != nil {
			annotations[a.Key] = *a.Value
		} else if !a.Absent {
			annotations[a.Key] = "check"
		}
	}
	o.SetAnnotations(annotations)
	return o
}

// deepest is how deep an object is filled.
const deepest = 12

// fill makes a value that a schema may take.
func fill(d *published.Document, n *published.Node, depth int) any {
	n = d.Resolve(n)
	if n == nil || depth > deepest {
		return map[string]any{}
	}
	switch {
	case n.Default != nil:
		return n.Default
	case len(n.Enum) > 0:
		return n.Enum[0]
	case n.IntOrString:
		return int64(1)
	}
	switch n.Type {
	case "string":
		text := "check"
		for len(text) < n.MinLength {
			text += "x"
		}
		return text
	case "integer", "number":
		if n.Minimum != nil {
			return int64(*n.Minimum)
		}
		return int64(1)
	case "boolean":
		return false
	case "array":
		items := []any{}
		for range n.MinItems {
			items = append(items, fill(d, n.Items, depth+1))
		}
		return items
	}
	object := map[string]any{}
	for _, name := range n.Required {
		object[name] = fill(d, n.Properties[name], depth+1)
	}
	return object
}
