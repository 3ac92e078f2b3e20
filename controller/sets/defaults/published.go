package defaults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"
)

// listAge is for how long the list of documents is taken as current: many sets
// are judged at once when a process starts.
const listAge = 2 * time.Second

// Schemas reads the schemas that an API server publishes, which every
// authenticated client may. A document is read again only when it has changed.
type Schemas struct {
	// Client reads OpenAPI v3: openapi.NewClientWithContext(discovery.RESTClient()).
	Client openapi.ClientWithContext
	// Clock is the real one if nil.
	Clock clock.PassiveClock

	mu     sync.Mutex
	listed time.Time
	paths  map[string]openapi.GroupVersionWithContext
	known  map[schema.GroupVersionKind]read
}

// read is a schema, and the server's name of the document's state.
type read struct {
	hash   string
	schema *Schema
}

// Of returns the schema of a kind; nil: none is published, or not yet.
func (s *Schemas) Of(ctx context.Context, kind schema.GroupVersionKind) (*Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.list(ctx); err != nil {
		return nil, err
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
	if known, ok := s.known[kind]; ok && known.hash == hash {
		return known.schema, nil
	}
	text, err := document.SchemaWithContext(ctx, "application/json")
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document %s: %w", path, err)
	}
	parsed, err := ParseSchema(text, kind)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document %s: %w", path, err)
	}
	if s.known == nil {
		s.known = map[schema.GroupVersionKind]read{}
	}
	s.known[kind] = read{hash: hash, schema: parsed}
	return parsed, nil
}

func (s *Schemas) list(ctx context.Context) (err error) {
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	now := s.Clock.Now()
	if s.paths != nil && now.Sub(s.listed) < listAge {
		return nil
	}
	if s.paths, err = s.Client.PathsWithContext(ctx); err != nil {
		return fmt.Errorf("read the list of OpenAPI documents: %w", err)
	}
	s.listed = now
	return nil
}
