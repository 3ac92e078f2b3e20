package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// What a handler has used up survives a restart of the operator between two
// attempts, on every kind: the number, the start, the delay, and the payload.
func TestAttemptsSurviveARestart(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			const delay = 2 * time.Second
			type run struct {
				handler.Info
				at      time.Time
				payload string
			}
			var (
				mu   sync.Mutex
				runs []run
			)
			register := func(r handler.Registry) {
				handler.Register(r, handler.Spec{ID: "myapp", On: handler.Create | handler.Update, Kind: k.kind, Labels: "test=" + b.namespace},
					func(_ context.Context, req *request) (handler.Result, error) {
						mu.Lock()
						defer mu.Unlock()
						var last struct{ Phase string }
						if _, err := req.Payload("myapp", &last); err != nil {
							t.Error(err)
						}
						runs = append(runs, run{req.Info, time.Now(), last.Phase})
						if req.Attempt < 3 {
							return handler.Result{}, handler.Temporary("not yet", handler.After(delay), handler.Status(map[string]any{"phase": fmt.Sprint("try ", req.Attempt)}))
						}
						return handler.Result{}, nil
					})
			}
			o := b.start(register)
			u := b.create(b.object(k.kind, "one", k.body))
			for attempt := 1; attempt < 3; attempt++ {
				rigtest.Eventually(b, settle, func() error {
					m := b.markerOf(b.get(u))
					if r, _ := m.Record("myapp"); r.Attempts < attempt && m.State != storage.Succeeded {
						return fmt.Errorf("%d attempts are recorded, want %d", r.Attempts, attempt)
					}
					return nil
				})
				o.stop()
				o = b.start(register)
			}
			b.await(u, "Succeeded")
			mu.Lock()
			defer mu.Unlock()
			if len(runs) != 3 {
				t.Fatalf("%d runs, want 3", len(runs))
			}
			for i, r := range runs {
				if r.Attempt != i+1 || r.Cause != handler.Create || !r.Started.Equal(runs[0].Started) || r.IdempotencyID != runs[0].IdempotencyID {
					t.Errorf("run %d: %+v; the first: %+v", i+1, r.Info, runs[0].Info)
				}
				if i == 0 {
					continue
				}
				if want := fmt.Sprint("try ", i); r.payload != want {
					t.Errorf("run %d was told the payload %q, want %q", i+1, r.payload, want)
				}
				if waited := r.at.Sub(runs[i-1].at); waited < delay {
					t.Errorf("run %d came after %s, want %s", i+1, waited, delay)
				}
			}
		})
	}
}

// A restart writes nothing to settled objects and runs nothing on them, but
// what is declared for Resume, once.
func TestRestartWithSettledObjects(t *testing.T) {
	const objects = 200
	b := newBench(t)
	var work, resume calls
	register := func(r handler.Registry) {
		spec := handler.Spec{Kind: testKind("Strict"), Namespaces: []string{b.namespace}}
		spec.ID, spec.On = "work", handler.Create|handler.Update|handler.Delete
		handler.Register(r, spec, func(_ context.Context, req *request) (handler.Result, error) {
			work.add(req.Info)
			return handler.Result{Status: map[string]any{"n": work.add(req.Info)}}, nil
		})
		spec.ID, spec.On = "adopt", handler.Update
		handler.Register(r, spec, func(_ context.Context, req *request) (handler.Result, error) {
			return handler.Result{}, errors.New("nothing has changed")
		})
		spec.ID, spec.On = "resume", handler.Create|handler.Resume
		handler.Register(r, spec, func(_ context.Context, req *request) (handler.Result, error) {
			resume.add(req.Info)
			return handler.Result{}, nil
		})
	}
	o := b.start(register, b.withWebhook())
	first := b.object(testKind("Strict"), "s0", `{"spec":{"size":1}}`)
	b.awaitWebhook(first)
	b.createMany("Strict", objects, nil)
	b.allHandled("Strict", objects)
	o.stop()
	worked, resumed := len(work.all()), len(resume.all())
	if resumed != objects {
		t.Errorf("%d runs of the handler for Create and Resume on %d new objects", resumed, objects)
	}

	writes := b.count("stricts")
	b.start(register, b.withWebhook())
	rigtest.Eventually(b, settle, func() error {
		if n := len(resume.all()) - resumed; n < objects {
			return fmt.Errorf("%d of %d objects are resumed", n, objects)
		}
		return nil
	})
	single := writes.read().Sub(writes.before).Only(rig.Match{Verb: "GET", Resource: "stricts"})
	if n := single.Count(); n > 0 {
		t.Errorf("%d single reads: the cache was to be enough", n)
	}
	b.awaitWebhook(first)
	probe := b.create(b.object(testKind("Strict"), "probe", `{"spec":{"size":1}}`))
	b.awaitHandled(probe)
	b.quiet(probe)
	since := writes.read().Sub(writes.before).Only(rig.Match{Resource: "stricts", DryRun: rig.None})
	if n := since.Count(rig.Match{Verb: "PATCH"}, rig.Match{Verb: "PUT"}, rig.Match{Verb: "APPLY"}); n != 1 {
		t.Errorf("%d writes, want the one to the new object:\n%s", n, since)
	}
	if n := len(work.all()) - worked; n != 2 {
		t.Errorf("%d runs of work, want those on the new object", n/2)
	}
	perObject := map[string]int{}
	for _, info := range resume.all()[resumed:] {
		perObject[info.IdempotencyID+info.Cause.String()]++
	}
	if n := len(resume.all()) - resumed; n != objects+1 || len(perObject) != objects+1 {
		t.Errorf("%d runs as Resume or on the new object, %d different: want %d", n, len(perObject), objects+1)
	}
}
