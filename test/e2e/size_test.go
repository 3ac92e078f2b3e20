package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
)

// filler is an annotation that wakes nobody.
const filler = "kubectl.kubernetes.io/last-applied-configuration"

// fill annotates an object with so many bytes of it, key and value.
func fill(u *unstructured.Unstructured, size int) *unstructured.Unstructured {
	u.SetAnnotations(map[string]string{filler: strings.Repeat("x", size-len(filler))})
	return u
}

// random is a text that doesn't compress well.
func random(size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%x", rand.Uint64())
	}
	return b.String()[:size]
}

// Thirty handlers with the longest names that there are find room on an
// object, with messages and payloads, and each ends as it should.
func TestSizeOfManyHandlersWithLongNames(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Widget", "Strict"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var runs [30]atomic.Int64
			id := func(i int) string { return fmt.Sprintf("%03d/%s", i, strings.Repeat("n", min(1+12*i, 249))) }
			b.start(func(r handler.Registry) {
				for i := range runs {
					handler.Register(r, b.spec(testKind(kind), id(i), handler.Create|handler.Update|handler.Delete),
						func(_ context.Context, req *request) (handler.Result, error) {
							if runs[i].Add(1); req.Cause == handler.Create && req.Attempt == 1 {
								return handler.Result{}, handler.Temporary(random(3000), handler.After(soon), handler.Status(fields{"try": 1}))
							}
							return handler.Result{Status: fields{"try": 2}}, nil
						})
				}
			})
			u := b.create(b.object(testKind(kind), "one", `{"spec":{"size":1}}`))
			u = b.await(u, "Succeeded")
			b.quiet(u)
			u = b.get(u)
			for i := range runs {
				have := b.annotated(u, id(i))
				if kind == "Widget" {
					have = inStatus(u, id(i))
				}
				if n := runs[i].Load(); n != 2 || !same(have, fields{"try": 2}) {
					t.Errorf("handler %d: %d runs, payload %v", i, n, have)
				}
			}
			if err := b.admin.Delete(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			b.awaitGone(u)
		})
	}
}

// A payload above the budget goes to .status where that keeps it. Elsewhere a
// note stands in for it, and one event says so.
func TestSizeOfAPayloadAboveTheBudget(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Widget", "Strict"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			big := random(storage.DefaultPayloadLimit)
			var seen calls
			b.start(one(b.spec(testKind(kind), "myapp", handler.Create|handler.Update), func(_ context.Context, req *request) (handler.Result, error) {
				if seen.add(req.Info) == 3 {
					return handler.Result{Status: fields{"log": "short"}}, nil
				}
				return handler.Result{Status: fields{"log": big}}, nil
			}))
			u := b.create(b.object(testKind(kind), "one", `{"spec":{"size":1}}`))
			u = b.await(u, "Succeeded")
			b.resize(u, 2)
			b.awaitCalls(&seen, 2)
			b.stays(u, &seen, 2)
			u = b.get(u)
			if kind == "Widget" {
				if inStatus(u, "myapp", "log") != big || len(b.events(u, "PayloadTooLarge")) > 0 {
					t.Error("the payload is not in status, or an event says that it was left out")
				}
				return
			}
			note, _ := b.annotated(u, "myapp").(fields)
			if text, _ := note["dogear"].(string); !strings.Contains(text, "left out") {
				t.Errorf("the annotation shows %.100v", note)
			}
			b.awaitOneEvent(u, "PayloadTooLarge")
			if all := b.events(u, "StatusFallback"); len(all) > 0 {
				t.Errorf("an event says that the payload is in the annotation: %+v", all)
			}
			b.resize(u, 3)
			b.awaitCalls(&seen, 3)
			b.eventually(func() error {
				if have := b.annotated(b.get(u), "myapp"); !same(have, fields{"log": "short"}) {
					return fmt.Errorf("the annotation shows %.100v", have)
				}
				return nil
			})
		})
	}
}

// Beside 250 KiB of other annotations there is room for what Dogear needs, not
// for all that it would like to keep.
func TestSizeOfOtherAnnotationsLeavesLittleRoom(t *testing.T) {
	t.Parallel()
	for _, webhook := range []bool{false, true} {
		t.Run(fmt.Sprintf("webhook=%v", webhook), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen calls
			spec := b.spec(testKind("Strict"), "myapp", handler.Create|handler.Update|handler.Delete)
			spec.Diff = true
			register := one(spec, func(_ context.Context, req *request) (handler.Result, error) {
				if seen.add(req.Info)%2 == 1 {
					return handler.Result{}, handler.Temporary(random(3000), handler.After(soon), handler.Status(fields{"log": random(14000)}))
				}
				return handler.Result{Status: fields{"phase": "Done"}}, nil
			})
			u := fill(b.object(testKind("Strict"), "one", `{"spec":{"size":1,"text":"`+random(20000)+`"}}`), 250<<10)
			if webhook {
				b.start(register, b.withWebhook())
				b.awaitWebhook(u)
			} else {
				b.start(register)
			}
			b.create(u)
			b.awaitCalls(&seen, 2)
			b.await(u, "Succeeded")
			b.resize(u, 2)
			b.awaitCalls(&seen, 4)
			u = b.await(u, "Succeeded")
			b.stays(u, &seen, 4)
			if have := b.annotated(u, "myapp"); !same(have, fields{"phase": "Done"}) {
				t.Errorf("the payload is %v", have)
			}
			if err := b.admin.Delete(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			b.awaitGone(u)
		})
	}
}

// With the annotations full to the last byte nothing can be recorded. An event
// says so, nobody's request fails, and once there is room the outcome is
// recorded without another run.
func TestSizeOfOtherAnnotationsLeavesNoRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		webhook bool
		on      handler.Cause
	}{
		{"controller alone", false, handler.Create | handler.Update},
		{"with webhook", true, handler.Create | handler.Update},
		{"with webhook and finalizer", true, handler.Create | handler.Update | handler.Delete},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen calls
			register := one(b.spec(testKind("Strict"), "myapp", c.on), func(_ context.Context, req *request) (handler.Result, error) {
				seen.add(req.Info)
				return handler.Result{Status: fields{"phase": "Done"}}, nil
			})
			u := b.object(testKind("Strict"), "one", `{"spec":{"size":1}}`)
			if c.webhook {
				b.start(register, b.withWebhook())
				b.awaitWebhook(u)
			} else {
				b.start(register)
			}
			b.create(fill(u, storage.ServerLimit))
			event := b.awaitOneEvent(u, "Blocked")
			if !strings.Contains(event.Note, "262144") {
				t.Errorf("the event says %q", event.Note)
			}
			before := len(seen.all())
			b.patch(u, `{"metadata":{"annotations":{"`+filler+`":"shorter"}}}`)
			u = b.await(u, "Succeeded")
			b.stays(u, &seen, max(before, 1))
			if before > 1 || before == 0 && c.on&handler.Delete == 0 {
				t.Errorf("%d runs while there was no room, want 1", before)
			}
			if have := b.annotated(u, "myapp"); !same(have, fields{"phase": "Done"}) {
				t.Errorf("the payload is %v", have)
			}
			b.resize(u, 2)
			b.awaitCalls(&seen, 2)
			b.await(u, "Succeeded")
			if err := b.admin.Delete(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			b.awaitGone(u)
		})
	}
}

// An object of a mebibyte is handled like any other, with and without what
// was before a change.
func TestSizeOfALargeObject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	spec := b.spec(testKind("Widget"), "myapp", handler.Create|handler.Update|handler.Delete)
	spec.Diff = true
	register := one(spec, func(_ context.Context, req *request) (handler.Result, error) {
		seen.add(req.Info)
		req.Patch.SetLabel("run", fmt.Sprint(req.Cause))
		return handler.Result{Status: fields{"phase": req.Cause.String()}}, nil
	})
	u := b.object(testKind("Widget"), "one", `{"spec":{"size":1,"text":"`+random(1<<20)+`"}}`)
	b.start(register, b.withWebhook())
	b.awaitWebhook(u)
	b.create(u)
	b.awaitCalls(&seen, 1)
	b.await(u, "Succeeded")
	b.resize(u, 2)
	b.awaitCalls(&seen, 2)
	u = b.await(u, "Succeeded")
	b.stays(u, &seen, 2)
	if inStatus(u, "myapp", "phase") != "Update" || u.GetLabels()["run"] != "Update" {
		t.Errorf("status %v, labels %v", u.Object["status"], u.GetLabels())
	}
	if err := b.admin.Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	b.awaitGone(u)
}
