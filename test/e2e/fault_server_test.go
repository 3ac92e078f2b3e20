package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// ownControlPlane is a bench with a control plane that the test may break. Its
// API server gives up a request after 2 s.
func ownControlPlane(t *testing.T) *bench {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	cp, err := rig.Start(t.Context(), rig.Options{APIServerArgs: []string{"--request-timeout=2s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cp.Stop() })
	crds, err := rig.TestCRDs("Widget")
	if err == nil {
		err = cp.InstallCRDs(t.Context(), crds...)
	}
	if err != nil {
		t.Fatal(err)
	}
	admin, err := cp.Client()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, cp: cp, admin: admin, namespace: "faults", domain: "faults.example.com"}
	b.makeNamespace("faults")
	// The API server holds back the first objects of a new kind for 2 s, which
	// is as long as it may take here.
	if err := b.createAnyway(b.object(testKind("Widget"), "first", `{"spec":{"size":1}}`)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) makeNamespace(name string) {
	b.Helper()
	if err := b.admin.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		b.Fatal(err)
	}
}

// An etcd that hangs and an API server that dies in the middle of the work cost
// time, but no attempt: what became of a write is unknown, not a failure, and
// no handler runs twice for it.
func TestServersThatFail(t *testing.T) {
	t.Parallel()
	const objects = 80
	b := ownControlPlane(t)
	for _, c := range []struct {
		name string
		fail func(goOn func())
	}{
		{"etcd hangs", func(goOn func()) {
			etcd := b.cp.Process(rig.Etcd)
			if err := etcd.Pause(); err != nil {
				t.Fatal(err)
			}
			goOn()
			// The first request that times out began when that write may not have;
			// the second one began later.
			for range 2 {
				if err := b.admin.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err == nil {
					t.Error("etcd answers")
				}
			}
			if err := etcd.Resume(); err != nil {
				t.Fatal(err)
			}
		}},
		{"API server dies", func(goOn func()) {
			goOn()
			if err := b.cp.Process(rig.APIServer).Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := *b
			b := &inner
			b.T, b.namespace = t, fmt.Sprintf("ns%d", time.Now().UnixNano())
			b.domain = b.namespace + ".example.com"
			b.makeNamespace(b.namespace)
			var seen calls
			fault := make(chan struct{})
			// Not all of the work is over when the fault comes: each object has
			// two more attempts to go, and one waits for it.
			o := b.startOn(testKind("Widget"), false, handler.Spec{ID: "work", On: handler.Create | handler.Update},
				func(_ context.Context, req *request) (handler.Result, error) {
					seen.add(req.Info)
					if req.Attempt == 2 && req.Object.GetName() == "n0" {
						<-fault
					}
					if req.Attempt < 3 {
						return handler.Result{}, handler.Temporary("not yet", handler.After(500*time.Millisecond), handler.Status(map[string]any{"try": int64(req.Attempt)}))
					}
					return handler.Result{}, nil
				})
			b.each(objects, func(i int) error {
				return b.createAnyway(b.object(testKind("Widget"), fmt.Sprintf("n%d", i), `{"spec":{"size":1}}`))
			})
			rigtest.Eventually(b, settle, func() error {
				if n := len(seen.all()); n < objects {
					return fmt.Errorf("%d runs", n)
				}
				return nil
			})
			c.fail(func() { close(fault) })
			b.allHandled("Widget", objects)
			o.stop()
			attempts := map[string][]int{}
			for _, info := range seen.all() {
				attempts[info.IdempotencyID] = append(attempts[info.IdempotencyID], info.Attempt)
			}
			if len(attempts) != objects {
				t.Errorf("%d idempotency IDs, want %d", len(attempts), objects)
			}
			for id, got := range attempts {
				if !slices.Equal(got, []int{1, 2, 3}) {
					t.Errorf("%s: attempts are %v, want 1, 2, 3", id, got)
				}
			}
			if c.name == "etcd hangs" {
				counts, err := b.cp.Requests(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				unknown := counts.Count(rig.Match{Verb: "PATCH", Resource: "widgets", Code: 504}, rig.Match{Verb: "PATCH", Resource: "widgets", Code: 500})
				t.Logf("writes whose fate was unknown: %d", unknown)
				if unknown == 0 {
					t.Error("no write has timed out: the test shows nothing")
				}
			}
		})
	}
}

// createAnyway creates an object although the server may time out: with an
// answer, or by a reset of the stream if it has begun to answer.
func (b *bench) createAnyway(u *unstructured.Unstructured) error {
	var last error
	err := wait.PollUntilContextTimeout(b.Context(), soon, settle, true, func(ctx context.Context) (bool, error) {
		last = client.IgnoreAlreadyExists(b.admin.Create(ctx, u.DeepCopy()))
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("create %s: %w; last: %w", u.GetName(), err, last)
	}
	return nil
}

// With the webhook down objects pass unstamped, and the controller makes up
// for it: nothing is lost.
func TestObjectsThatNoWebhookSaw(t *testing.T) {
	t.Parallel()
	const objects = 100
	b := newBench(t)
	x := b.tampering(testKind("Widget"), true, handler.Spec{ID: "work", On: handler.Create | handler.Update | handler.Delete})
	x.webhookServer.stop()
	all := b.createMany("Widget", objects, nil)
	b.allHandled("Widget", objects)
	if n := len(x.seen.all()); n != objects {
		t.Errorf("%d runs, want %d", n, objects)
	}
	for _, info := range x.seen.all() {
		if info.By != "" {
			t.Errorf("a stamp names %q: was the webhook up?", info.By)
		}
	}
	samples, err := b.cp.Samples(t.Context(), "apiserver_admission_webhook_fail_open_count")
	if err != nil {
		t.Fatal(err)
	}
	let := 0
	for _, s := range samples {
		if s.Labels["name"] == "widgets.v1.test.dogear.dev."+"dogear."+b.domain {
			let += int(s.Value)
		}
	}
	if let < objects {
		t.Errorf("%d requests were let through, want %d or more: %v", let, objects, samples)
	}
	b.each(objects, func(i int) error { return b.admin.Delete(t.Context(), all[i]) })
	b.awaitAll("Widget", 0, nil)
	if n := len(x.seen.all()); n != 2*objects {
		t.Errorf("%d runs, want %d with those on deletion", n, 2*objects)
	}
}
