package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// counter counts the writes to one resource, by the API server's own metrics.
type counter struct {
	*bench
	resource string
	before   rig.Requests
}

func (b *bench) count(resource string) *counter {
	b.Helper()
	c := &counter{bench: b, resource: resource}
	c.before = c.read()
	return c
}

func (c *counter) read() rig.Requests {
	c.Helper()
	r, err := c.cp.SettledRequests(c.Context(), rig.Match{Resource: c.resource})
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// patches returns the PATCH requests since the count began: to the object, and
// to its status.
func (c *counter) patches() (main, status int) {
	c.Helper()
	return c.answered(0)
}

// stored returns those that were not refused: how often two writers get into
// each other's way depends on how fast they are.
func (c *counter) stored() (main, status int) {
	c.Helper()
	return c.answered(200)
}

func (c *counter) answered(code int) (main, status int) {
	c.Helper()
	since := c.read().Sub(c.before)
	main = since.Count(rig.Match{Verb: "PATCH", Resource: c.resource, Subresource: rig.None, DryRun: rig.None, Code: code})
	status = since.Count(rig.Match{Verb: "PATCH", Resource: c.resource, Subresource: "status", DryRun: rig.None, Code: code})
	return main, status
}

// The table of writes in the design. Each case has a kind of its own, so that
// the API server's counts are those of the case alone.
func TestWrites(t *testing.T) {
	ok := func(context.Context, *request) (handler.Result, error) { return handler.Result{}, nil }
	payload := func(context.Context, *request) (handler.Result, error) {
		return handler.Result{Status: map[string]any{"phase": "Starting"}}, nil
	}
	failing := func(context.Context, *request) (handler.Result, error) {
		return handler.Result{}, errors.New("must not run")
	}
	twice := func(status ...any) func(context.Context, *request) (handler.Result, error) {
		return func(_ context.Context, req *request) (handler.Result, error) {
			if req.Attempt >= 3 {
				return handler.Result{}, nil
			}
			options := []handler.Option{handler.After(100 * time.Millisecond)}
			if len(status) > 0 {
				options = append(options, handler.Status(map[string]any{"phase": status[req.Attempt-1]}))
			}
			return handler.Result{}, handler.Temporary("not yet", options...)
		}
	}
	for _, c := range []struct {
		name, kind   string
		specs        []handler.Spec
		run          func(context.Context, *request) (handler.Result, error)
		main, status int
	}{
		{"one handler succeeds", "Widget", []handler.Spec{{ID: "a", On: handler.Create}}, ok, 1, 0},
		{"payload that status keeps", "Widget", []handler.Spec{{ID: "a", On: handler.Create}}, payload, 1, 1},
		{"payload that goes to the annotation", "Strict", []handler.Spec{{ID: "a", On: handler.Create}}, payload, 1, 0},
		{"two temporary errors, then success", "Strict", []handler.Spec{{ID: "a", On: handler.Create}}, twice(), 3, 0},
		{"the same with one payload twice", "Widget", []handler.Spec{{ID: "a", On: handler.Create}}, twice("Pending", "Pending"), 3, 1},
		{"the same with changed payloads", "Widget", []handler.Spec{{ID: "a", On: handler.Create}}, twice("Pending", "Starting"), 3, 2},
		{"three handlers succeed", "Widget", []handler.Spec{{ID: "a", On: handler.Create}, {ID: "b", On: handler.Create}, {ID: "c", On: handler.Create | handler.Update}}, ok, 1, 0},
		{"delete handler only, created", "Widget", []handler.Spec{{ID: "a", On: handler.Delete}}, failing, 0, 0},
		{"unselected object", "Widget", []handler.Spec{{ID: "a", On: handler.Create, Labels: "other=label"}}, failing, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			kind := testKind(c.kind)
			b.start(func(r handler.Registry) {
				for _, spec := range c.specs {
					spec.Kind, spec.Namespaces = kind, []string{b.namespace}
					handler.Register(r, spec, c.run)
				}
			}, b.withWebhook())
			u := b.object(kind, "one", `{"spec":{"size":1}}`)
			if c.name != "unselected object" {
				b.awaitWebhook(u)
			}
			writes := b.count(plural(c.kind))
			b.create(u)
			if c.name != "unselected object" {
				b.await(u, "Succeeded")
			}
			b.quiet(u)
			if main, status := writes.patches(); main != c.main || status != c.status {
				t.Errorf("%d writes and %d of status, want %d and %d", main, status, c.main, c.status)
			}
			again := b.count(plural(c.kind))
			b.churn(u)
			b.quiet(u)
			if main, status := again.patches(); main != 0 || status != 1 {
				t.Errorf("after status churn: %d writes and %d of status, want 0 and the test's own", main, status)
			}
		})
	}
}

func TestWritesOfDeletion(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails int
		main  int
	}{{"delete handler succeeds", 0, 1}, {"delete handler fails once", 1, 2}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			kind := testKind("Widget")
			b.start(func(r handler.Registry) {
				handler.Register(r, handler.Spec{ID: "a", On: handler.Delete, Kind: kind, Namespaces: []string{b.namespace}},
					func(_ context.Context, req *request) (handler.Result, error) {
						if req.Attempt <= c.fails {
							return handler.Result{}, handler.Temporary("not yet", handler.After(50*time.Millisecond))
						}
						return handler.Result{}, nil
					})
			}, b.withWebhook())
			u := b.object(kind, "one", `{"spec":{"size":1}}`)
			b.awaitWebhook(u)
			writes := b.count("widgets")
			b.create(u)
			if err := b.admin.Delete(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			b.awaitGone(u)
			if main, status := writes.patches(); main != c.main || status != 0 {
				t.Errorf("%d writes and %d of status, want %d and 0", main, status, c.main)
			}
		})
	}
}

func plural(kind string) string {
	return map[string]string{"Widget": "widgets", "Strict": "stricts", "Phased": "phaseds", "Enumed": "enumeds", "Nested": "nesteds"}[kind]
}

// quiet waits until the operator has had the time to write once more if it
// were going to: a marker object, created after, goes through all of it.
func (b *bench) quiet(u *unstructured.Unstructured) {
	b.Helper()
	last, since := b.get(u).GetResourceVersion(), time.Now()
	rigtest.Eventually(b, settle, func() error {
		if version := b.get(u).GetResourceVersion(); version != last {
			last, since = version, time.Now()
		}
		if time.Since(since) < 500*time.Millisecond {
			return errors.New("still too short to tell")
		}
		return nil
	})
}

// churn changes the status as the object's owner would.
func (b *bench) churn(u *unstructured.Unstructured) {
	b.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":7}}`))
	if err := b.admin.Status().Patch(b.Context(), b.get(u), patch); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) awaitGone(u *unstructured.Unstructured) {
	b.Helper()
	rigtest.Eventually(b, settle, func() error {
		fresh := &unstructured.Unstructured{}
		fresh.SetGroupVersionKind(u.GroupVersionKind())
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(u), fresh); err == nil {
			return errors.New("the object is still there: " + b.ours(fresh))
		} else if client.IgnoreNotFound(err) != nil {
			return err
		}
		return nil
	})
}
