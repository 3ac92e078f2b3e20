package check

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"github.com/dogear-dev/dogear/controller/published"
)

// schemaAge is for how long the list of documents is taken as current.
const schemaAge = 5 * time.Second

func (c *Checker) newSchemas() *published.Reader[*published.Document] {
	return &published.Reader[*published.Document]{
		Client: openapi.NewClientWithContext(c.discovery.RESTClient()), Clock: c.options.Clock, Age: schemaAge, Parse: published.Parse,
	}
}

// keepsStatus tells whether the schema of a kind has room for payloads at a place
// below .status.
func (r *round) keepsStatus(ctx context.Context, kind schema.GroupVersionKind, path ...string) (bool, error) {
	d, err := r.schemas.Of(ctx, kind)
	return d.Keeps(append([]string{"status"}, path...), map[string]any{}), err
}
