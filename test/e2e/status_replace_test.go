package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

// stage is what a handler answers next.
type stage struct {
	payload any
	err     func(payload any) error // nil: success
}

// staged is a handler that goes through stages, one each attempt.
func staged(n *atomic.Int64, stages ...stage) runFunc {
	return func(context.Context, *request) (handler.Result, error) {
		i := int(n.Add(1)) - 1
		if i >= len(stages) {
			return handler.Result{}, handler.Permanent("called once more than expected")
		}
		if s := stages[i]; s.err != nil {
			return handler.Result{}, s.err(s.payload)
		}
		return handler.Result{Status: stages[i].payload}, nil
	}
}

func temporary(payload any) error {
	return handler.Temporary("not yet", handler.After(0), handler.Status(payload))
}

// A payload replaces the last one as a whole: keys that vanished are gone, an
// empty object clears it, and an outcome without a payload leaves it.
func TestStatusIsReplacedClearedOrLeft(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Widget", "Bare", "Strict", "Certificate"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			gvk, body := testKind(kind), `{"spec":{"size":1}}`
			if kind == "Certificate" {
				gvk, body = certificateKind, kinds[0].body
			}
			var n atomic.Int64
			b.start(one(b.spec(gvk, "a.b/c", handler.Create|handler.Update), staged(&n,
				stage{fields{"phase": "Pending", "why": "quota", "deep": fields{"x": 1, "y": 2}}, temporary},
				stage{fields{"phase": "Ready", "deep": fields{"x": 1}}, nil},
				stage{nil, nil},
				stage{fields{}, nil},
				stage{fields{"phase": "Again"}, nil},
			)))
			u := b.create(b.object(gvk, "one", body))
			shows := func(step int64, want any) {
				t.Helper()
				b.eventually(func() error {
					u = b.get(u)
					have := b.annotated(u, "a.b/c")
					if places[kind] != nil {
						have = inStatus(u, "a.b/c")
					}
					if n.Load() == step && u.GetAnnotations()[b.key("state")] == "Succeeded" && same(have, want) {
						return nil
					}
					return fmt.Errorf("step %d: have %v, want %v at step %d: %s", n.Load(), have, want, step, b.ours(u))
				})
			}
			shows(2, fields{"phase": "Ready", "deep": fields{"x": 1}})
			for i, want := range []any{fields{"phase": "Ready", "deep": fields{"x": 1}}, nil, fields{"phase": "Again"}} {
				b.patch(u, fmt.Sprintf(`{"metadata":{"labels":{"step":"%d"}}}`, i))
				shows(int64(3+i), want)
			}
		})
	}
}

// What .status cannot have goes to the annotation, is told once, and makes no
// handler run again. What it could have until then is not left there.
func TestStatusThatTheServerRefusesFallsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind string
		spec       handler.Spec
		path       []string
		payloads   []any // the last one is refused
	}{
		{"wrong type", "Phased", handler.Spec{ID: "myapp"}, []string{"myapp"}, []any{fields{"phase": 5}}},
		{"wrong type after a good one", "Phased", handler.Spec{ID: "myapp"}, []string{"myapp"}, []any{fields{"phase": "Good"}, fields{"phase": 5}}},
		{"an object where a string is wanted", "Phased", handler.Spec{ID: "x", Status: handler.StatusTarget{Path: "myapp.phase"}}, []string{"myapp", "phase"}, []any{fields{"a": "b"}}},
		{"a key that is pruned, after a good one", "Phased", handler.Spec{ID: "myapp"}, []string{"myapp"}, []any{fields{"phase": "Good"}, fields{"phase": "Good", "more": 1}}},
		{"not in the enumeration", "Enumed", handler.Spec{ID: "result"}, []string{"result"}, []any{"Ugly"}},
		{"not in the enumeration, by a path", "Enumed", handler.Spec{ID: "x", Status: handler.StatusTarget{Path: "result"}}, []string{"result"}, []any{"Ugly"}},
		{"not in the enumeration after a good one", "Enumed", handler.Spec{ID: "result"}, []string{"result"}, []any{"Good", "Ugly"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			kind := testKind(c.kind)
			var seen calls
			spec := b.spec(kind, c.spec.ID, handler.Create|handler.Update)
			spec.Status = c.spec.Status
			var payload atomic.Value
			payload.Store([]any{c.payloads[0]})
			b.start(one(spec, func(_ context.Context, req *request) (handler.Result, error) {
				seen.add(req.Info)
				return handler.Result{Status: payload.Load().([]any)[0]}, nil
			}))
			u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
			b.await(u, "Succeeded")
			if len(c.payloads) > 1 {
				if have := inStatus(b.get(u), c.path...); !same(have, c.payloads[0]) {
					t.Fatalf("status shows %v, want %v", have, c.payloads[0])
				}
				payload.Store([]any{c.payloads[1]})
				b.resize(u, 2)
			}
			refused := c.payloads[len(c.payloads)-1]
			b.eventually(func() error {
				u = b.get(u)
				if have := b.annotated(u, spec.ID); !same(have, refused) {
					return fmt.Errorf("the annotation shows %v, want %v", have, refused)
				}
				return nil
			})
			b.awaitOneEvent(u, "StatusFallback")
			b.stays(u, &seen, len(c.payloads))
			if have := inStatus(b.get(u), c.path...); have != nil {
				t.Errorf("status still shows %v", have)
			}
			if c.kind != "Enumed" {
				return
			}
			payload.Store([]any{"Good"})
			b.resize(u, 3)
			b.awaitCalls(&seen, len(c.payloads)+1)
			b.eventually(func() error {
				if u = b.get(u); inStatus(u, "result") != "Good" || b.annotated(u, spec.ID) != nil {
					return fmt.Errorf("status shows %v, the annotation %v", inStatus(u, "result"), b.annotated(u, spec.ID))
				}
				return nil
			})
			b.awaitOneEvent(u, "StatusFallback")
		})
	}
}

// Payloads and conditions of several handlers go to a new status in one
// request, and one that is refused takes none along.
func TestStatusOfSeveralHandlersAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		kind     string
		paths    []string
		payloads []any
		kept     []bool
	}{
		{"all kept on a new object", "Widget", []string{"a", "b", "deep.er.c"}, []any{fields{"x": 1}, "text", fields{"y": true}}, []bool{true, true, true}},
		{"side by side below a new parent", "Nested", []string{"dogear.a", "dogear.b"}, []any{fields{"x": 1}, fields{"x": 2}}, []bool{true, true}},
		{"the first is refused", "Certificate", []string{"revision", "nextPrivateKeySecretName"}, []any{"text", "name"}, []bool{false, true}},
		{"the second is refused", "Certificate", []string{"nextPrivateKeySecretName", "revision"}, []any{"name", "text"}, []bool{true, false}},
		{"all are refused", "Certificate", []string{"revision", "nextPrivateKeySecretName"}, []any{"text", 5}, []bool{false, false}},
		{"below what is no object", "Widget", []string{"a", "a.b"}, []any{"text", "deeper"}, []bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			kind, body := testKind(c.kind), `{"spec":{"size":1}}`
			if c.kind == "Certificate" {
				kind, body = certificateKind, kinds[0].body
			}
			var n atomic.Int64
			b.start(func(r handler.Registry) {
				for i, path := range c.paths {
					spec := b.spec(kind, fmt.Sprintf("h%d", i), handler.Create)
					spec.Status.Path = path
					handler.Register(r, spec, func(context.Context, *request) (handler.Result, error) {
						n.Add(1)
						return handler.Result{Status: c.payloads[i]}, nil
					})
				}
			})
			u := b.create(b.object(kind, "one", body))
			u = b.await(u, "Succeeded")
			for i, payload := range c.payloads {
				id := fmt.Sprintf("h%d", i)
				status, annotation := inStatus(u, strings.Split(c.paths[i], ".")...), b.annotated(u, id)
				if c.kept[i] && !(same(status, payload) && annotation == nil) || !c.kept[i] && !same(annotation, payload) {
					t.Errorf("%s: %v in status, %v in the annotation, want %v (kept: %v)", id, status, annotation, payload, c.kept[i])
				}
			}
			b.quiet(u)
			if have := int(n.Load()); have != len(c.paths) {
				t.Errorf("%d runs, want %d", have, len(c.paths))
			}
		})
	}
}

// A field of the object's owner that bears the name of a handler is the
// owner's: it is neither cleared nor taken for a payload.
func TestStatusOfTheOwnerIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	var n atomic.Int64
	run := staged(&n, stage{fields{"phase": "x"}, nil}, stage{fields{}, nil})
	b.start(one(b.spec(certificateKind, "revision", handler.Create|handler.Update), func(ctx context.Context, req *request) (handler.Result, error) {
		seen.add(req.Info)
		return run(ctx, req)
	}))
	u := b.create(b.object(certificateKind, "one", kinds[0].body))
	b.await(u, "Succeeded")
	b.apply(u, "owner", fields{"revision": 3})
	b.patch(u, `{"spec":{"secretName":"other"}}`)
	b.awaitCalls(&seen, 2)
	u = b.await(u, "Succeeded")
	b.quiet(u)
	if u = b.get(u); !same(inStatus(u, "revision"), 3) || b.annotated(u, "revision") != nil {
		t.Errorf("status.revision is %v, the annotation shows %v", inStatus(u, "revision"), b.annotated(u, "revision"))
	}
}

// A handler reads the payloads of the handlers before it in the same pass, and
// what was left last at the next cause and after a restart.
func TestStatusIsReadByLaterHandlersAndRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind string
		path string
	}{{"Widget", ""}, {"Strict", ""}, {"Nested", "dogear.first"}} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			kind := testKind(c.kind)
			var first, second calls
			register := func(r handler.Registry) {
				spec := b.spec(kind, "first", handler.Create|handler.Update)
				spec.Status.Path = c.path
				handler.Register(r, spec, func(_ context.Context, req *request) (handler.Result, error) {
					n := first.add(req.Info)
					return handler.Result{Status: fields{"run": n}}, nil
				})
				handler.Register(r, b.spec(kind, "second", handler.Create|handler.Update), func(_ context.Context, req *request) (handler.Result, error) {
					second.add(req.Info)
					if req.Attempt == 1 {
						return handler.Result{}, handler.Temporary("not yet", handler.After(soon))
					}
					return handler.Result{}, nil
				})
			}
			operator := b.start(register)
			u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
			b.awaitCalls(&second, 2)
			b.await(u, "Succeeded")
			b.resize(u, 2)
			b.awaitCalls(&second, 4)
			b.await(u, "Succeeded")
			operator.stop()
			b.start(register)
			b.resize(u, 3)
			b.awaitCalls(&second, 6)
			b.await(u, "Succeeded")
			if all := second.all(); len(all) == 6 {
				for i, want := range []int{1, 1, 2, 2, 3, 3} {
					reads(t, all[i], "first", want)
				}
			}
			if all := first.all(); len(all) == 3 {
				for i := range all {
					reads(t, all[i], "first", i)
				}
			}
		})
	}
}

// reads checks what run of a handler a request tells of; 0: none.
func reads(t *testing.T, info handler.Info, id string, run int) {
	t.Helper()
	var payload struct{ Run int }
	if ok, err := info.Payload(id, &payload); ok != (run > 0) || err != nil || payload.Run != run {
		t.Errorf("%s reads %v, want run %d of %s (%v)", info.HandlerID, printable(info.Payloads), run, id, err)
	}
}

func printable(m map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for id, text := range m {
		out[id] = string(text)
	}
	return out
}
