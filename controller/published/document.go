package published

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Document is the schema of a kind, with those that it refers to. A nil one
// has no schema.
type Document struct {
	Root       *Node // nil: none
	components map[string]*Node
}

// Node is what matters here of an OpenAPI v3 schema.
type Node struct {
	Ref         string           `json:"$ref"`
	AllOf       []*Node          `json:"allOf"`
	Type        string           `json:"type"`
	Properties  map[string]*Node `json:"properties"`
	Additional  *Additional      `json:"additionalProperties"`
	Required    []string         `json:"required"`
	Items       *Node            `json:"items"`
	MinItems    int              `json:"minItems"`
	Minimum     *float64         `json:"minimum"`
	MinLength   int              `json:"minLength"`
	Enum        []any            `json:"enum"`
	Default     any              `json:"default"`
	Preserve    bool             `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString bool             `json:"x-kubernetes-int-or-string"`
	ListType    string           `json:"x-kubernetes-list-type"`
	ListMapKeys []string         `json:"x-kubernetes-list-map-keys"`
	Kinds       []struct {
		Group, Version, Kind string
	} `json:"x-kubernetes-group-version-kind"`
}

// Additional is a schema, or just true or false.
type Additional struct {
	Allowed bool
	Schema  *Node // nil: any
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Additional) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &a.Allowed) == nil {
		return nil
	}
	a.Allowed = true
	return json.Unmarshal(text, &a.Schema)
}

// Parse reads the schema of a kind out of the document of its group and version.
func Parse(text []byte, kind schema.GroupVersionKind) (*Document, error) {
	var parsed struct {
		Components struct {
			Schemas map[string]*Node `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	d := &Document{components: parsed.Components.Schemas}
	for _, n := range d.components {
		for _, k := range n.Kinds {
			if k.Group == kind.Group && k.Version == kind.Version && k.Kind == kind.Kind {
				d.Root = n
			}
		}
	}
	return d, nil
}

// Resolve follows references: those of core kinds sit in allOf. It returns nil
// for one that leads nowhere.
func (d *Document) Resolve(n *Node) *Node {
	for range 16 {
		switch {
		case n == nil:
			return nil
		case n.Ref != "":
			n = d.components[n.Ref[strings.LastIndexByte(n.Ref, '/')+1:]]
		case len(n.AllOf) == 1 && n.Properties == nil && n.Type == "":
			n = n.AllOf[0]
		default:
			return n
		}
	}
	return nil
}

// Keeps tells whether the schema keeps every field of a value at a path. It
// doesn't judge types and bounds: the server does, aloud.
func (d *Document) Keeps(path []string, value any) bool {
	return d != nil && d.keepsAt(d.Root, path, value)
}

func (d *Document) keepsAt(n *Node, path []string, value any) bool {
	n = d.Resolve(n)
	if n == nil {
		return false
	}
	if len(path) == 0 {
		return d.keepsValue(n, value)
	}
	child, free := n.member(path[0])
	return free || (child != nil && d.keepsAt(child, path[1:], value))
}

func (d *Document) keepsValue(n *Node, value any) bool {
	n = d.Resolve(n)
	if n == nil {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		if n.Type != "" && n.Type != "object" {
			return false
		}
		for key, item := range value {
			child, free := n.member(key)
			if !free && (child == nil || !d.keepsValue(child, item)) {
				return false
			}
		}
	case []any:
		if n.Preserve && n.Items == nil {
			return true
		}
		for _, item := range value {
			if n.Items == nil || !d.keepsValue(n.Items, item) {
				return false
			}
		}
	}
	return true
}

// member returns the schema of a member; free says that anything may be there.
func (n *Node) member(name string) (child *Node, free bool) {
	if child, ok := n.Properties[name]; ok {
		return child, false
	}
	if n.Preserve {
		return nil, true
	}
	if a := n.Additional; a != nil && a.Allowed {
		return a.Schema, a.Schema == nil
	}
	return nil, false
}
