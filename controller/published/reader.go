// Package published reads what an API server publishes of its kinds: OpenAPI v3
// documents, which every authenticated client may read.
package published

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"
)

// timeout bounds a look, which others wait for.
const timeout = 10 * time.Second

// Reader reads the schemas of kinds as T, of which the zero value is none. A
// document is read again only when it has changed.
type Reader[T any] struct {
	// Client reads OpenAPI v3: openapi.NewClientWithContext(discovery.RESTClient()).
	Client openapi.ClientWithContext
	// Clock tells the time.
	Clock clock.PassiveClock
	// Age is for how long the list of documents, or that it could not be read,
	// is taken as current.
	Age time.Duration
	// Parse reads the schema of a kind out of the document of its group and
	// version; the zero value: it has none.
	Parse func(document []byte, kind schema.GroupVersionKind) (T, error)

	mu     sync.Mutex
	listed time.Time
	failed error // of the last list
	paths  map[string]openapi.GroupVersionWithContext
	known  map[schema.GroupVersionKind]read[T]
}

// read is a schema, and the server's name of the document's state.
type read[T any] struct {
	hash   string
	schema T
}

// Of returns the schema of a kind; the zero value: none is published, or not yet.
func (r *Reader[T]) Of(ctx context.Context, kind schema.GroupVersionKind) (none T, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if now := r.Clock.Now(); now.Sub(r.listed) > r.Age {
		r.paths, r.failed = r.Client.PathsWithContext(ctx)
		r.listed = now
	}
	if r.failed != nil {
		return none, fmt.Errorf("read the list of OpenAPI documents: %w", r.failed)
	}
	path := "apis/" + kind.GroupVersion().String()
	if kind.Group == "" {
		path = "api/" + kind.Version
	}
	document, ok := r.paths[path]
	if !ok {
		return none, nil
	}
	hash := document.ServerRelativeURL()
	if known, ok := r.known[kind]; ok && known.hash == hash {
		return known.schema, nil
	}
	text, err := document.SchemaWithContext(ctx, "application/json")
	if err != nil {
		return none, fmt.Errorf("read the OpenAPI document %s: %w", path, err)
	}
	parsed, err := r.Parse(text, kind)
	if err != nil {
		return none, fmt.Errorf("OpenAPI document %s: %w", path, err)
	}
	if r.known == nil {
		r.known = map[schema.GroupVersionKind]read[T]{}
	}
	r.known[kind] = read[T]{hash: hash, schema: parsed}
	return parsed, nil
}
