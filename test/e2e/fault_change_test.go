package e2e

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// held is a handler that a test holds in the middle of a run.
type held struct {
	*bench
	seen    calls
	entered chan *request
	leave   chan error
}

func (b *bench) held() *held {
	return &held{bench: b, entered: make(chan *request, 10), leave: make(chan error)}
}

func (h *held) run(ctx context.Context, req *request) (handler.Result, error) {
	h.seen.add(req.Info)
	h.entered <- req
	select {
	case err := <-h.leave:
		return handler.Result{Status: map[string]any{"size": sizeOf(req.Object), "uid": string(req.Object.GetUID())}}, err
	case <-ctx.Done():
		return handler.Result{}, ctx.Err()
	}
}

func (h *held) enter() *request {
	h.Helper()
	select {
	case req := <-h.entered:
		return req
	case <-time.After(settle):
		h.Fatal("the handler was not called")
		return nil
	}
}

func (h *held) finish(err error) {
	h.Helper()
	select {
	case h.leave <- err:
	case <-time.After(settle):
		h.Fatal("the handler does not run any more")
	}
}

// causes are the causes and attempts of all runs.
func causes(all []handler.Info) (out []string) {
	for _, i := range all {
		out = append(out, i.Cause.String())
	}
	return out
}

func eachWay(t *testing.T, test func(t *testing.T, b *bench, webhook bool)) {
	for _, webhook := range []bool{true, false} {
		name := "webhook down"
		if webhook {
			name = "webhook up"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newBench(t), webhook)
		})
	}
}

// A change in the middle of a run is handled after it: the result belongs to
// what the handler saw.
func TestChangeDuringARun(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, b *bench, webhook bool) {
		kind := testKind("Widget")
		h := b.held()
		b.startOn(kind, webhook, handler.Spec{ID: "work", On: handler.Create | handler.Update}, h.run)
		u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
		first := h.enter()
		b.merge(u, `{"spec":{"size":2}}`)
		b.merge(u, `{"spec":{"size":3}}`)
		h.finish(nil)
		second := h.enter()
		rigtest.Eventually(b, settle, func() error {
			m := b.markerOf(b.get(u))
			if r, _ := m.Record("work"); m.Handled == nil && r.State != storage.Succeeded {
				return errors.New("the end of the first run waits for that of the second")
			}
			return nil
		})
		h.finish(nil)
		fresh := b.awaitHandled(u)
		b.quiet(u)
		if got := causes(h.seen.all()); !slices.Equal(got, []string{"Create", "Update"}) {
			t.Errorf("runs are %q, want Create and Update", got)
		}
		if sizeOf(first.Object) != 1 || sizeOf(second.Object) != 3 {
			t.Errorf("saw the sizes %d and %d, want 1 and 3", sizeOf(first.Object), sizeOf(second.Object))
		}
		if size, _, _ := nestedInt(fresh.Object, "status", "work", "size"); size != 3 {
			t.Errorf("the payload is that of size %d, want 3", size)
		}
	})
}

// A deletion in the middle of a run, or of a back-off of an hour, is handled at
// once, and not before the run has ended.
func TestDeletionDuringARun(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, b *bench, webhook bool) {
		kind := testKind("Widget")
		h := b.held()
		b.startOn(kind, webhook, handler.Spec{ID: "work", On: handler.Create | handler.Update | handler.Delete}, h.run)
		u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
		h.enter()
		if err := b.admin.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		h.finish(nil)
		h.enter()
		h.finish(nil)
		b.awaitGone(u)

		u = b.create(b.object(kind, "two", `{"spec":{"size":1}}`))
		h.enter()
		h.finish(handler.Temporary("later", handler.After(time.Hour)))
		b.await(u, "Retrying")
		if err := b.admin.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		h.enter()
		h.finish(handler.Temporary("again", handler.After(50*time.Millisecond)))
		h.enter()
		h.finish(nil)
		b.awaitGone(u)
		if got, want := causes(h.seen.all()), []string{"Create", "Delete", "Create", "Delete", "Delete"}; !slices.Equal(got, want) {
			t.Errorf("runs are %q, want %q", got, want)
		}
		last := h.seen.all()[3:]
		if last[0].Attempt != 1 || last[1].Attempt != 2 || last[0].IdempotencyID != last[1].IdempotencyID {
			t.Errorf("the delete handler's attempts are %+v", last)
		}
	})
}

// A result is never written to an object that was made under the same name in
// the middle of the run, not to its status either; and that one is handled.
func TestRecreationDuringARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, target string }{{"Widget", "status"}, {"Strict", "annotation"}, {"Bare", "main"}} {
		t.Run(c.target, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, b *bench, webhook bool) {
				kind := testKind(c.kind)
				h := b.held()
				b.startOn(kind, webhook, handler.Spec{ID: "work", On: handler.Create | handler.Update}, h.run)
				u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
				h.enter()
				if err := b.admin.Delete(t.Context(), u); err != nil {
					t.Fatal(err)
				}
				u = b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
				h.finish(nil)
				second := h.enter()
				fresh := b.get(u)
				if second.Object.GetUID() != fresh.GetUID() {
					t.Error("the second run is not on the new object")
				}
				if fresh.Object["status"] != nil {
					t.Errorf("the old result is in the status of the new object: %v", fresh.Object["status"])
				}
				if m := b.markerOf(fresh); m.Handled != nil || m.Status != nil {
					t.Errorf("the old result is in the marker of the new object: %s", b.ours(fresh))
				}
				h.finish(nil)
				b.awaitHandled(u)
				all := h.seen.all()
				if len(all) != 2 || all[0].IdempotencyID == all[1].IdempotencyID || all[1].Cause != handler.Create {
					t.Errorf("runs are %+v, want one as Create on each object", all)
				}
			})
		})
	}
}
