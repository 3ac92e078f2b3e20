package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

type (
	runFunc = func(context.Context, *request) (handler.Result, error)
	fields  = map[string]any
)

// spec declares a handler for the objects of this test alone.
func (b *bench) spec(kind schema.GroupVersionKind, id string, on handler.Cause) handler.Spec {
	s := handler.Spec{ID: id, On: on, Kind: kind}
	if kind.Kind == "ClusterWide" {
		s.Labels = "test=" + b.namespace
	} else {
		s.Namespaces = []string{b.namespace}
	}
	return s
}

// one registers a single handler.
func one(spec handler.Spec, run runFunc) func(handler.Registry) {
	return func(r handler.Registry) { handler.Register(r, spec, run) }
}

// widget builds the object that most tests are about.
func (b *bench) widget(name string) *unstructured.Unstructured {
	b.Helper()
	return b.object(testKind("Widget"), name, `{"spec":{"size":1}}`)
}

// eventually waits until a rule holds.
func (b *bench) eventually(holds func() error) {
	b.Helper()
	rigtest.Eventually(b, settle, holds)
}

// awaitCalls waits until a handler has been called n times, no more.
func (b *bench) awaitCalls(c *calls, n int) []handler.Info {
	b.Helper()
	b.eventually(func() error {
		if have := len(c.all()); have < n {
			return fmt.Errorf("%d calls, want %d", have, n)
		}
		return nil
	})
	all := c.all()
	if len(all) > n {
		b.Errorf("%d calls, want %d: %+v", len(all), n, all)
	}
	return all
}

// stays checks after all has become quiet that a handler was called n times.
func (b *bench) stays(u *unstructured.Unstructured, c *calls, n int) {
	b.Helper()
	b.quiet(u)
	if have := len(c.all()); have != n {
		b.Errorf("%d calls of the handler, want %d: %+v", have, n, c.all())
	}
}

// patch changes an object as a user would, by a JSON merge patch.
func (b *bench) patch(u *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	b.Helper()
	fresh := b.get(u)
	if err := b.admin.Patch(b.Context(), fresh, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		b.Fatal(err)
	}
	return fresh
}

// resize makes a change that counts.
func (b *bench) resize(u *unstructured.Unstructured, size int) *unstructured.Unstructured {
	b.Helper()
	return b.patch(u, fmt.Sprintf(`{"spec":{"size":%d}}`, size))
}

// apply changes status as an owner's controller does: by server-side apply.
func (b *bench) apply(u *unstructured.Unstructured, owner string, status fields) {
	b.Helper()
	if err := b.tryApply(u, owner, status); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) tryApply(u *unstructured.Unstructured, owner string, status fields) error {
	body, err := json.Marshal(fields{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "status": status,
		"metadata": fields{"name": u.GetName(), "namespace": u.GetNamespace()},
	})
	if err != nil {
		return err
	}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(u.GroupVersionKind())
	target.SetName(u.GetName())
	target.SetNamespace(u.GetNamespace())
	return b.admin.Status().Patch(context.Background(), target, client.RawPatch(types.ApplyPatchType, body),
		client.FieldOwner(owner), client.ForceOwnership)
}

// events lists what was told about an object.
func (b *bench) events(u *unstructured.Unstructured, reason string) []eventsv1.Event {
	b.Helper()
	list := &eventsv1.EventList{}
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	if err := b.admin.List(b.Context(), list, client.InNamespace(namespace)); err != nil {
		b.Fatal(err)
	}
	var out []eventsv1.Event
	for _, e := range list.Items {
		if e.Regarding.UID == b.get(u).GetUID() && e.Reason == reason {
			out = append(out, e)
		}
	}
	return out
}

// awaitOneEvent waits for an event, of which there must be just one.
func (b *bench) awaitOneEvent(u *unstructured.Unstructured, reason string) eventsv1.Event {
	b.Helper()
	var have []eventsv1.Event
	b.eventually(func() error {
		if have = b.events(u, reason); len(have) == 0 {
			return fmt.Errorf("no event %s about %s %s", reason, u.GetKind(), u.GetName())
		}
		return nil
	})
	if len(have) > 1 || have[0].Series != nil {
		b.Errorf("more than one event %s: %+v", reason, have)
		return eventsv1.Event{}
	}
	return have[0]
}

// annotated is a handler's payload in the status annotation; nil: none.
func (b *bench) annotated(u *unstructured.Unstructured, id string) any {
	b.Helper()
	text, ok := u.GetAnnotations()[b.key("status")]
	if !ok {
		return nil
	}
	all := fields{}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.Fatalf("status annotation %q: %v", text, err)
	}
	return all[id]
}

// inStatus is what is at a path below status; nil: nothing.
func inStatus(u *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, append([]string{"status"}, path...)...)
	return value
}

// same compares two values as JSON has them.
func same(a, b any) bool { return reflect.DeepEqual(plainJSON(a), plainJSON(b)) }

func plainJSON(v any) (plain any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		panic(err)
	}
	return plain
}

// record is a handler's record in the progress annotation.
func (b *bench) record(u *unstructured.Unstructured, id string) fields {
	b.Helper()
	var progress struct{ Handlers map[string]fields }
	if text := u.GetAnnotations()[b.key("progress")]; text != "" {
		if err := json.Unmarshal([]byte(text), &progress); err != nil {
			b.Fatal(err)
		}
	}
	return progress.Handlers[id]
}

// history collects all versions of an object that the API server has stored.
type history struct {
	mu       sync.Mutex
	versions []*unstructured.Unstructured
}

// history starts to collect; call it before the object is created.
func (b *bench) history(u *unstructured.Unstructured) *history {
	b.Helper()
	c, err := client.NewWithWatch(b.cp.AdminConfig(), client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(u.GroupVersionKind().GroupVersion().WithKind(u.GetKind() + "List"))
	ctx, cancel := context.WithCancel(context.Background())
	w, err := c.Watch(ctx, list, client.InNamespace(u.GetNamespace()), client.MatchingFields{"metadata.name": u.GetName()})
	if err != nil {
		b.Fatal(err)
	}
	h, ended := &history{}, make(chan struct{})
	go func() {
		defer close(ended)
		for e := range w.ResultChan() {
			if u, ok := e.Object.(*unstructured.Unstructured); ok {
				h.mu.Lock()
				h.versions = append(h.versions, u)
				h.mu.Unlock()
			}
		}
	}()
	b.Cleanup(func() { cancel(); <-ended })
	return h
}

func (h *history) all() []*unstructured.Unstructured {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*unstructured.Unstructured(nil), h.versions...)
}

// gate holds a handler up until a test opens it.
type gate struct{ open atomic.Bool }

// closed tells whether the handler is to be held up.
func (g *gate) closed() bool { return !g.open.Load() }

const soon = 50 * time.Millisecond
