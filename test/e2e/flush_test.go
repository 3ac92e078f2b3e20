package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
)

// The outcome of a quick handler is written while a slow one runs, and its
// payload outlives the slow one's outcome.
func TestPayloadOutlivesSlowerHandler(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kind := testKind("Strict")
	says := func(word string, after time.Duration) func(context.Context, *request) (handler.Result, error) {
		return func(context.Context, *request) (handler.Result, error) {
			time.Sleep(after)
			return handler.Result{Status: map[string]any{"is": word}}, nil
		}
	}
	b.start(func(r handler.Registry) {
		for _, h := range []struct {
			id    string
			after time.Duration
		}{{"quick", 0}, {"slow", 2500 * time.Millisecond}} {
			spec := handler.Spec{ID: h.id, On: handler.Create, Kind: kind, Namespaces: []string{b.namespace}}
			handler.Register(r, spec, says(h.id, h.after))
		}
	})
	u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
	got := b.await(u, "Succeeded").GetAnnotations()[b.key("status")]
	if want := `{"quick":{"is":"quick"},"slow":{"is":"slow"}}`; got != want {
		t.Errorf("the payloads are %s, want %s", got, want)
	}
}
