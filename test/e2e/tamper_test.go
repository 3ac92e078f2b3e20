package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
)

var changing = handler.Spec{ID: "work", On: handler.Create | handler.Update | handler.Delete}

// Nobody wipes or forges what is recorded, neither with the webhook up, also
// where the controller is restarted afterwards, nor with the webhook down as
// long as the controller lives. What users change besides is handled.
func TestStateIsNeitherWipedNorForged(t *testing.T) {
	t.Parallel()
	eachKind(t, []string{"Widget", "Service"}, func(t *testing.T, b *bench, kind schema.GroupVersionKind, webhook bool) {
		x := b.tampering(kind, webhook, changing)
		u := b.create(b.object(kind, "one", bodyOf(kind)))
		x.intact("at first", u)
		runs := []string{"Create"}
		x.ran("at first", runs...)
		put := func(u *unstructured.Unstructured) {
			if err := b.admin.Update(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
		wipe := map[string]any{}
		for _, name := range []string{"state", "handled", "progress", "status", "base"} {
			wipe[x.key(name)] = nil
		}
		wiping := toJSON(t, map[string]any{"metadata": map[string]any{"annotations": wipe, "finalizers": nil}})
		forged := func(u *unstructured.Unstructured) storage.Marker {
			return storage.Marker{State: storage.Succeeded, Handled: &storage.Handled{
				Identity: storage.Identity{UID: string(u.GetUID())}, Essence: storage.Rules{}.Digest(u.Object), Generation: u.GetGeneration() + 1,
				By: map[string]storage.Entry{"work": {}},
			}}
		}
		progress := func(u *unstructured.Unstructured, r storage.Record) storage.Marker {
			return storage.Marker{}.WithRecord(storage.Identity{UID: string(u.GetUID())}, "work", r)
		}
		with := func(u *unstructured.Unstructured, m storage.Marker) *unstructured.Unstructured {
			u = x.without(u)
			annotations := u.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			for key, value := range storage.Prefix("dogear." + b.domain).Render(m) {
				annotations[key] = value
			}
			u.SetAnnotations(annotations)
			return u
		}
		for _, c := range []struct {
			name string
			do   func(u *unstructured.Unstructured)
			runs bool
		}{
			{"replaced", func(u *unstructured.Unstructured) { put(x.without(u)) }, false},
			{"wiped", func(u *unstructured.Unstructured) { b.merge(u, wiping) }, false},
			{"replaced with a change", func(u *unstructured.Unstructured) { put(x.without(fresh(u, "a"))) }, true},
			{"handled forged with a change", func(u *unstructured.Unstructured) { u = fresh(u, "b"); put(with(u, forged(u))) }, true},
			{"success forged with a change", func(u *unstructured.Unstructured) {
				u = fresh(u, "c")
				put(with(u, progress(u, storage.Record{Cause: storage.Update, State: storage.Succeeded, Essence: storage.Rules{}.Digest(u.Object), Attempts: 1})))
			}, true},
			{"failure forged with a change", func(u *unstructured.Unstructured) {
				u = fresh(u, "d")
				put(with(u, progress(u, storage.Record{Cause: storage.Update, State: storage.Failed, Essence: storage.Rules{}.Digest(u.Object), Attempts: 1})))
			}, true},
			{"back-off forged with a change", func(u *unstructured.Unstructured) {
				u = fresh(u, "e")
				put(with(u, progress(u, storage.Record{Cause: storage.Update, State: storage.Retrying, Essence: storage.Rules{}.Digest(u.Object), Attempts: 1, Next: time.Now().Add(time.Hour)})))
			}, true},
			{"pending forged", func(u *unstructured.Unstructured) {
				x.annotate(u, "progress", `{"v":1,"uid":"`+string(u.GetUID())+`","handlers":{"work":{"cause":"Update","state":"Pending"}}}`)
			}, false},
			{"resume forged", func(u *unstructured.Unstructured) {
				x.annotate(u, "progress", `{"v":1,"uid":"`+string(u.GetUID())+`","handlers":{"work":{"cause":"Resume","state":"Pending"}}}`)
			}, false},
			{"progress of a newer release forged", func(u *unstructured.Unstructured) { x.annotate(u, "handled", "no JSON") }, false},
			{"status written with the state wiped", func(u *unstructured.Unstructured) {
				patch := client.RawPatch("application/merge-patch+json", []byte(wiping))
				if err := client.IgnoreNotFound(b.admin.Status().Patch(t.Context(), u.DeepCopy(), patch)); err != nil {
					t.Fatal(err)
				}
			}, false},
		} {
			x.try(func() { c.do(b.get(u)) })
			if c.runs {
				runs = append(runs, "Update")
			}
			x.ran(c.name, runs...)
			x.intact(c.name, u)
		}
		for _, info := range x.seen.all() {
			if info.Attempt != 1 {
				t.Errorf("%s as attempt %d, want 1", info.Cause, info.Attempt)
			}
		}
		if err := b.admin.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		b.awaitGone(u)
		x.ran("deleted", append(runs, "Delete")...)
	})
}

// An object that is created with somebody's state, the forger's or that of the
// object that it was exported from, is new.
func TestStateThatANewObjectBrings(t *testing.T) {
	t.Parallel()
	eachKind(t, []string{"Widget", "ConfigMap"}, func(t *testing.T, b *bench, kind schema.GroupVersionKind, webhook bool) {
		x := b.tampering(kind, webhook, changing)
		create := func(name string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
			u := b.object(kind, name, bodyOf(kind))
			change(u)
			u = b.create(u)
			x.intact(name, u)
			return u
		}
		carrying := func(m storage.Marker) func(*unstructured.Unstructured) {
			return func(u *unstructured.Unstructured) {
				u.SetAnnotations(storage.Prefix("dogear." + b.domain).Render(m))
			}
		}
		self := func(name string) storage.Identity {
			return storage.Identity{Namespace: b.namespace, Name: name, Kind: kind.Kind}
		}
		// The digest that the object will have: the server adds nothing that counts.
		digest := func(name string) string {
			u := b.object(kind, name, bodyOf(kind))
			if err := b.admin.Create(t.Context(), u, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			return storage.Rules{}.Digest(x.without(u).Object)
		}
		create("handled", carrying(storage.Marker{State: storage.Succeeded, Handled: &storage.Handled{
			Identity: self("handled"), Essence: digest("handled"), Generation: 1, By: map[string]storage.Entry{"work": {}},
		}}))
		x.ran("handled forged", "Create")
		for _, state := range []storage.State{storage.Succeeded, storage.Failed, storage.Retrying} {
			create("progress", carrying(storage.Marker{State: state}.WithRecord(self("progress"), "work", storage.Record{
				Cause: storage.Create, State: state, Essence: digest("progress"), Attempts: 3, Next: time.Now().Add(time.Hour),
			})))
			x.ran("progress forged as "+string(state), "Create", "Create")
			if info := x.seen.all()[1]; info.Attempt != 1 {
				t.Errorf("attempt %d, want 1", info.Attempt)
			}
			u := b.get(b.object(kind, "progress", bodyOf(kind)))
			b.merge(u, `{"metadata":{"finalizers":null}}`)
			if err := b.admin.Delete(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			b.awaitGone(u)
			x.seen.truncate(1)
		}

		exported := b.get(b.object(kind, "handled", bodyOf(kind)))
		create("copy", func(u *unstructured.Unstructured) {
			u.SetAnnotations(exported.GetAnnotations())
			u.SetFinalizers(exported.GetFinalizers())
		})
		x.ran("exported and applied under another name", "Create", "Create")
	})
}

// truncate forgets all calls but the first n.
func (c *calls) truncate(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = c.list[:min(n, len(c.list))]
}

// What cannot be known: where the state is wiped, the webhook is down and the
// controller is restarted, nothing is left that tells a handled object from a
// new one. It is handled once more.
func TestStateWipedWhileNobodyWatchesIsANewStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kind := testKind("Widget")
	x := b.tampering(kind, false, changing)
	u := b.create(b.object(kind, "one", bodyOf(kind)))
	x.intact("at first", u)
	x.running.stop()
	if err := b.admin.Update(t.Context(), x.without(b.get(u))); err != nil {
		t.Fatal(err)
	}
	x.begin()
	x.intact("after it", u)
	x.ran("after it", "Create", "Create")
	if all := x.seen.all(); all[0].IdempotencyID != all[1].IdempotencyID {
		t.Error("the repeat has another idempotency ID")
	}
}

// Our finalizer on an object that no delete handler selects holds nothing.
func TestForgedFinalizer(t *testing.T) {
	t.Parallel()
	eachKind(t, []string{"Widget", "Service"}, func(t *testing.T, b *bench, kind schema.GroupVersionKind, webhook bool) {
		x := b.tampering(kind, webhook, handler.Spec{ID: "work", On: handler.Create | handler.Update})
		u := b.object(kind, "one", bodyOf(kind))
		u.SetFinalizers([]string{x.key("finalizer"), foreignFinalizer})
		b.create(u)
		x.intact("created", u)
		x.probe()
		if got := b.get(u).GetFinalizers(); !slices.Equal(got, []string{foreignFinalizer}) {
			t.Errorf("after creation, the finalizers are %q", got)
		}
		x.try(func() {
			b.merge(u, toJSON(t, map[string]any{"metadata": map[string]any{"finalizers": []string{foreignFinalizer, x.key("finalizer")}}}))
		})
		if got := b.get(u).GetFinalizers(); !slices.Equal(got, []string{foreignFinalizer}) {
			t.Errorf("after a change, the finalizers are %q", got)
		}
		x.ran("in the end", "Create")
	})
}

// The retry annotation asks for failed handlers and is consumed; paused
// suspends the object and is kept.
func TestAnnotationsThatAreTheUsers(t *testing.T) {
	t.Parallel()
	eachKind(t, []string{"Widget", "Service"}, func(t *testing.T, b *bench, kind schema.GroupVersionKind, webhook bool) {
		x := b.tampering(kind, webhook, handler.Spec{ID: "work", On: handler.Create | handler.Update})
		fail := true
		x.run = func(context.Context, *request) (handler.Result, error) {
			if fail {
				return handler.Result{}, handler.Permanent("never")
			}
			return handler.Result{}, nil
		}
		u := b.create(b.object(kind, "one", bodyOf(kind)))
		b.await(u, "Failed")
		consumed := func(what string) {
			t.Helper()
			if value, there := b.get(u).GetAnnotations()[x.key("retry")]; there {
				t.Errorf("%s: retry is still %q", what, value)
			}
		}
		for _, c := range []struct {
			retry string
			runs  []string
		}{
			{"other", []string{"Create"}},
			{"*", []string{"Create", "Create"}},
			{"other, work", []string{"Create", "Create", "Create"}},
		} {
			x.try(func() { x.annotate(u, "retry", c.retry) })
			x.ran("retry "+c.retry, c.runs...)
			consumed("retry " + c.retry)
			b.await(u, "Failed")
		}
		fail = false
		runs := []string{"Create", "Create", "Create"}
		x.try(func() {
			x.annotate(u, "paused", "true")
			b.merge(fresh(b.get(u), ""), `{"metadata":{"labels":{"fresh":"a"}}}`)
			x.annotate(u, "retry", "*")
		})
		x.ran("paused", runs...)
		if b.get(u).GetAnnotations()[x.key("paused")] != "true" {
			t.Error("paused is not kept")
		}
		x.try(func() {
			b.merge(u, toJSON(t, map[string]any{"metadata": map[string]any{"annotations": map[string]any{x.key("paused"): nil}}}))
		})
		b.await(u, "Succeeded")
		consumed("after the pause")
		x.ran("after the pause", append(runs, "Create")...) // what was asked to start again has not finished
	})
}

// Who takes the finalizer off an object in deletion waives the cleanup.
func TestFinalizerTakenOffInDeletion(t *testing.T) {
	t.Parallel()
	eachKind(t, []string{"Widget", "Service"}, func(t *testing.T, b *bench, kind schema.GroupVersionKind, webhook bool) {
		x := b.tampering(kind, webhook, changing)
		x.run = func(_ context.Context, req *request) (handler.Result, error) {
			if req.Cause == handler.Delete {
				return handler.Result{}, handler.Temporary("later", handler.After(time.Hour))
			}
			return handler.Result{}, nil
		}
		u := b.object(kind, "one", bodyOf(kind))
		u.SetFinalizers([]string{foreignFinalizer})
		b.create(u)
		x.intact("created", u)
		if err := b.admin.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		b.await(u, "Retrying")
		x.try(func() {
			b.merge(u, toJSON(t, map[string]any{"metadata": map[string]any{"finalizers": []string{foreignFinalizer}}}))
		})
		if got := b.get(u).GetFinalizers(); !slices.Equal(got, []string{foreignFinalizer}) {
			t.Errorf("the finalizers are %q", got)
		}
		x.try(func() { b.merge(u, `{"metadata":{"labels":{"fresh":"a"}}}`) })
		x.ran("waived", "Create", "Delete")
		b.merge(u, `{"metadata":{"finalizers":null}}`)
		b.awaitGone(u)
	})
}

// Nobody but the operator itself owes a run as Resume.
func TestForgedResume(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kind := testKind("Widget")
	x := b.tampering(kind, false, handler.Spec{ID: "work", On: handler.Create | handler.Resume})
	u := b.create(b.object(kind, "one", bodyOf(kind)))
	x.intact("at first", u)
	x.try(func() {
		x.annotate(u, "progress", `{"v":1,"uid":"`+string(b.get(u).GetUID())+`","handlers":{"work":{"cause":"Resume","state":"Pending"}}}`)
	})
	x.intact("forged", u)
	x.ran("forged", "Create")
}
