package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
)

// A handler that fails twice and then succeeds does so on every kind, with the
// delays that it asked for, also where it is restarted in between.
func TestTwoTemporaryErrorsThenSuccess(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen calls
			run := func(_ context.Context, req *request) (handler.Result, error) {
				seen.add(req.Info)
				if req.Attempt < 3 {
					return handler.Result{}, handler.Temporary("not yet", handler.After(300*time.Millisecond))
				}
				return handler.Result{}, nil
			}
			b.start(func(r handler.Registry) {
				handler.Register(r, handler.Spec{ID: "myapp", On: handler.Create | handler.Update, Kind: k.kind, Labels: "test=" + b.namespace}, run)
			})
			u := b.create(b.object(k.kind, "one", k.body))
			b.await(u, "Succeeded")
			all := seen.all()
			if len(all) != 3 {
				t.Fatalf("%d attempts, want 3", len(all))
			}
			for i, info := range all {
				if info.Attempt != i+1 || info.Cause != handler.Create {
					t.Errorf("attempt %d: %+v", i+1, info)
				}
			}
		})
	}
}
