package controller

import (
	"context"
	"slices"
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
type schemas = published.Reader[*published.Document]

func newSchemas(d discovery.DiscoveryInterface, c clock.PassiveClock) *schemas {
	return &schemas{Client: openapi.NewClientWithContext(d.RESTClient()), Clock: c, Age: schemaAge, Parse: published.Parse}
}

// keepsStatus tells whether a schema keeps every field of a value at a path
// below status.
func keepsStatus(d *published.Document, path []string, value any) bool {
	return d.Keeps(append([]string{"status"}, path...), value)
}

// hasConditions tells whether .status.conditions is a list with the key type.
func hasConditions(d *published.Document) bool {
	if d == nil {
		return false
	}
	n := d.Resolve(d.Root)
	for _, name := range []string{"status", "conditions"} {
		if n == nil {
			return false
		}
		n = d.Resolve(n.Properties[name])
	}
	return n != nil && n.ListType == "map" && slices.Equal(n.ListMapKeys, []string{"type"})
}

// KeepsStatus tells whether the schema of a kind has room for payloads at a
// place below .status.
func (op *Operator) KeepsStatus(ctx context.Context, kind schema.GroupVersionKind, path ...string) (bool, error) {
	d, err := op.schemas.Of(ctx, kind)
	if err != nil {
		return false, err
	}
	return keepsStatus(d, path, map[string]any{}), nil
}
