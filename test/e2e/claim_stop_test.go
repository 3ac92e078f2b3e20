package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

// A stop during a claimed attempt takes back the claim alone: what an earlier
// handler of the same pass has left stays.
func TestStopInAClaimedAttemptLosesNoPayload(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kind := testKind("Strict")
	running := make(chan struct{}, 1)
	o := b.start(func(r handler.Registry) {
		handler.Register(r, handler.Spec{ID: "first", On: handler.Create, Kind: kind, Namespaces: []string{b.namespace}},
			func(context.Context, *request) (handler.Result, error) {
				return handler.Result{Status: map[string]any{"phase": "Ready"}}, nil
			})
		handler.Register(r, handler.Spec{ID: "claimed", On: handler.Create, Kind: kind, Namespaces: []string{b.namespace}, Claim: true},
			func(ctx context.Context, _ *request) (handler.Result, error) {
				running <- struct{}{}
				<-ctx.Done()
				return handler.Result{}, ctx.Err()
			})
	})
	u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
	<-running
	o.stop()
	after := b.get(u).GetAnnotations()
	if status := after[b.key("status")]; status != `{"first":{"phase":"Ready"}}` {
		t.Errorf("status is %q", status)
	}
	if progress := after[b.key("progress")]; strings.Contains(progress, "claimed\":true") || strings.Contains(progress, `"claimed":{"cause":"Create","state":"Pending","essence"`) || !strings.Contains(progress, `"first"`) {
		t.Errorf("progress is %s", progress)
	}
}
