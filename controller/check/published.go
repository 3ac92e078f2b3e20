package check

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"github.com/dogear-dev/dogear/controller/published"
)

// document is what the API server publishes of a kind.
type document struct {
	root       *node
	components map[string]*node
}

// node is what matters here of a schema.
type node struct {
	Ref        string           `json:"$ref"`
	AllOf      []*node          `json:"allOf"`
	Type       string           `json:"type"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	MinItems   int              `json:"minItems"`
	Minimum    *float64         `json:"minimum"`
	MinLength  int              `json:"minLength"`
	Enum       []any            `json:"enum"`
	Default    any              `json:"default"`
	// Additional is a schema, or just true or false.
	Additional  json.RawMessage `json:"additionalProperties"`
	Preserve    bool            `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString bool            `json:"x-kubernetes-int-or-string"`
	Kinds       []struct {
		Group, Version, Kind string
	} `json:"x-kubernetes-group-version-kind"`
}

// schemaAge is for how long the list of documents is taken as current.
const schemaAge = 5 * time.Second

func (c *Checker) newSchemas() *published.Reader[*document] {
	return &published.Reader[*document]{
		Client: openapi.NewClientWithContext(c.discovery.RESTClient()), Clock: c.options.Clock, Age: schemaAge, Parse: parseDocument,
	}
}

// published returns what is published of a kind; its root is nil where nothing is.
func (r *round) published(ctx context.Context, kind schema.GroupVersionKind) (*document, error) {
	d, err := r.schemas.Of(ctx, kind)
	if d == nil {
		d = &document{}
	}
	return d, err
}

func parseDocument(text []byte, kind schema.GroupVersionKind) (*document, error) {
	var parsed struct {
		Components struct {
			Schemas map[string]*node `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	d := &document{components: parsed.Components.Schemas}
	for _, n := range d.components {
		for _, k := range n.Kinds {
			if k.Group == kind.Group && k.Version == kind.Version && k.Kind == kind.Kind {
				d.root = n
			}
		}
	}
	return d, nil
}

// resolve follows references, which those of core kinds have in allOf.
func (d *document) resolve(n *node) *node {
	for range 16 {
		switch {
		case n == nil:
			return nil
		case n.Ref != "":
			n = d.components[n.Ref[strings.LastIndexByte(n.Ref, '/')+1:]]
		case len(n.AllOf) == 1 && n.Properties == nil:
			n = n.AllOf[0]
		default:
			return n
		}
	}
	return nil
}

// has tells whether objects of the kind may have a field.
func (d *document) has(path []string) bool {
	n := d.resolve(d.root)
	for _, name := range path {
		if n == nil {
			return false
		}
		child, ok := n.Properties[name]
		switch {
		case ok:
			n = d.resolve(child)
		case n.Preserve:
			return true
		default:
			additional := &node{}
			if len(n.Additional) == 0 || string(n.Additional) == "false" {
				return false
			}
			if json.Unmarshal(n.Additional, additional) != nil { // it is true
				return true
			}
			n = d.resolve(additional)
		}
	}
	return n != nil
}
