package controller

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"

	"github.com/dogear-dev/dogear/controller/published"
)

// schemaAge is for how long a published schema is taken as current.
const schemaAge = 10 * time.Second

// schemas judges from what the API server publishes whether a kind keeps a
// payload.
type schemas = published.Reader[*kindSchema]

func newSchemas(d discovery.DiscoveryInterface, c clock.PassiveClock) *schemas {
	return &schemas{Client: openapi.NewClientWithContext(d.RESTClient()), Clock: c, Age: schemaAge, Parse: parseSchema}
}

// kindSchema is one kind's schema.
type kindSchema struct {
	root       *node
	components map[string]*node
}

// node is what matters here of an OpenAPI v3 schema.
type node struct {
	Ref                  string           `json:"$ref"`
	AllOf                []*node          `json:"allOf"`
	Type                 string           `json:"type"`
	Properties           map[string]*node `json:"properties"`
	AdditionalProperties *additional      `json:"additionalProperties"`
	Items                *node            `json:"items"`
	Preserve             bool             `json:"x-kubernetes-preserve-unknown-fields"`
	ListType             string           `json:"x-kubernetes-list-type"`
	ListMapKeys          []string         `json:"x-kubernetes-list-map-keys"`
	Kinds                []struct {
		Group, Version, Kind string
	} `json:"x-kubernetes-group-version-kind"`
}

// additional is a schema, or just true or false.
type additional struct {
	allowed bool
	schema  *node
}

func (a *additional) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &a.allowed) == nil {
		return nil
	}
	a.allowed = true
	return json.Unmarshal(text, &a.schema)
}

// parseSchema reads the schema of a kind out of a document.
func parseSchema(text []byte, kind schema.GroupVersionKind) (*kindSchema, error) {
	var document struct {
		Components struct {
			Schemas map[string]*node `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	p := &kindSchema{components: document.Components.Schemas}
	for _, n := range p.components {
		for _, k := range n.Kinds {
			if k.Group == kind.Group && k.Version == kind.Version && k.Kind == kind.Kind {
				p.root = n
			}
		}
	}
	return p, nil
}

// resolve follows references: those of core kinds sit in allOf.
func (p *kindSchema) resolve(n *node) *node {
	for range 16 {
		switch {
		case n == nil:
			return nil
		case n.Ref != "":
			n = p.components[n.Ref[strings.LastIndexByte(n.Ref, '/')+1:]]
		case len(n.AllOf) == 1 && n.Properties == nil && n.Type == "":
			n = n.AllOf[0]
		default:
			return n
		}
	}
	return nil
}

// keeps tells whether the schema keeps every field of a value at the path
// below status. It doesn't judge types and bounds: the server does, aloud.
func (p *kindSchema) keeps(path []string, value any) bool {
	if p == nil || p.root == nil {
		return false
	}
	return p.keepsAt(p.root, append([]string{"status"}, path...), value)
}

func (p *kindSchema) keepsAt(n *node, path []string, value any) bool {
	n = p.resolve(n)
	if n == nil {
		return false
	}
	if len(path) == 0 {
		return p.keepsValue(n, value)
	}
	child, free := p.member(n, path[0])
	return free || (child != nil && p.keepsAt(child, path[1:], value))
}

func (p *kindSchema) keepsValue(n *node, value any) bool {
	n = p.resolve(n)
	if n == nil {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		if n.Type != "" && n.Type != "object" {
			return false
		}
		for key, item := range value {
			child, free := p.member(n, key)
			if !free && (child == nil || !p.keepsValue(child, item)) {
				return false
			}
		}
	case []any:
		if n.Preserve && n.Items == nil {
			return true
		}
		for _, item := range value {
			if n.Items == nil || !p.keepsValue(n.Items, item) {
				return false
			}
		}
	}
	return true
}

// member returns the schema of a member; free says that anything may be there.
func (p *kindSchema) member(n *node, name string) (child *node, free bool) {
	if child, ok := n.Properties[name]; ok {
		return child, false
	}
	if n.Preserve {
		return nil, true
	}
	if a := n.AdditionalProperties; a != nil && a.allowed {
		return a.schema, a.schema == nil
	}
	return nil, false
}

// hasConditions tells whether .status.conditions is a list with the key type.
func (p *kindSchema) hasConditions() bool {
	if p == nil || p.root == nil {
		return false
	}
	n := p.resolve(p.root)
	for _, name := range []string{"status", "conditions"} {
		if n == nil {
			return false
		}
		n = p.resolve(n.Properties[name])
	}
	return n != nil && n.ListType == "map" && slices.Equal(n.ListMapKeys, []string{"type"})
}

// KeepsStatus tells whether the schema of a kind has room for payloads at a
// place below .status.
func (op *Operator) KeepsStatus(ctx context.Context, kind schema.GroupVersionKind, path ...string) (bool, error) {
	p, err := op.schemas.Of(ctx, kind)
	if err != nil {
		return false, err
	}
	return p.keeps(path, map[string]any{}), nil
}
