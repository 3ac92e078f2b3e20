package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"
)

// schemaAge is for how long a published schema is taken as current.
const schemaAge = 10 * time.Second

// schemaTimeout bounds a look at a schema, which others wait for.
const schemaTimeout = 10 * time.Second

// schemas judges from the OpenAPI v3 documents that the API server publishes
// (every authenticated client may read them) whether a kind keeps a payload.
type schemas struct {
	discovery discovery.DiscoveryInterface
	clock     clock.PassiveClock

	mu      sync.Mutex
	checked time.Time
	failed  error // of the last check
	paths   map[string]openapi.GroupVersionWithContext
	kinds   map[schema.GroupVersionKind]*published
}

// published is one kind's schema, and the server's name of the document's
// state that it was read from.
type published struct {
	hash       string
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

// of returns the schema of a kind, nil where the server publishes none.
func (s *schemas) of(ctx context.Context, kind schema.GroupVersionKind) (*published, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	if now := s.clock.Now(); now.Sub(s.checked) > schemaAge {
		s.paths, s.failed = openapi.NewClientWithContext(s.discovery.RESTClient()).PathsWithContext(ctx)
		s.checked = now
	}
	if s.failed != nil {
		return nil, fmt.Errorf("read the list of OpenAPI documents: %w", s.failed)
	}
	path := "apis/" + kind.GroupVersion().String()
	if kind.Group == "" {
		path = "api/" + kind.Version
	}
	document, ok := s.paths[path]
	if !ok {
		return nil, nil
	}
	hash := document.ServerRelativeURL()
	if have := s.kinds[kind]; have != nil && have.hash == hash {
		return have, nil
	}
	text, err := document.SchemaWithContext(ctx, "application/json")
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document %s: %w", path, err)
	}
	p, err := parsePublished(text, kind)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document %s: %w", path, err)
	}
	p.hash = hash
	if s.kinds == nil {
		s.kinds = map[schema.GroupVersionKind]*published{}
	}
	s.kinds[kind] = p
	return p, nil
}

func parsePublished(text []byte, kind schema.GroupVersionKind) (*published, error) {
	var document struct {
		Components struct {
			Schemas map[string]*node `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	p := &published{components: document.Components.Schemas}
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
func (p *published) resolve(n *node) *node {
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
func (p *published) keeps(path []string, value any) bool {
	if p == nil || p.root == nil {
		return false
	}
	return p.keepsAt(p.root, append([]string{"status"}, path...), value)
}

func (p *published) keepsAt(n *node, path []string, value any) bool {
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

func (p *published) keepsValue(n *node, value any) bool {
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
func (p *published) member(n *node, name string) (child *node, free bool) {
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
func (p *published) hasConditions() bool {
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
	p, err := op.schemas.of(ctx, kind)
	if err != nil {
		return false, err
	}
	return p.keeps(path, map[string]any{}), nil
}
