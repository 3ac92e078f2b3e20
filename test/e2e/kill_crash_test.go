package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

const (
	foreignFinalizer  = "example.com/keep"
	foreignAnnotation = "example.com/note"
	foreignLabel      = "example.com/team"
)

func init() {
	// Two handlers that take a moment and note each run.
	scenarios["work"] = func(p *program, r handler.Registry) {
		run := func(_ context.Context, req *request) (handler.Result, error) {
			p.write("before", req)
			time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
			p.write("after", req)
			return handler.Result{}, nil
		}
		spec := handler.Spec{Kind: testKind("Widget"), Labels: "test=" + p.Namespace}
		spec.ID, spec.On = "work", handler.Create|handler.Update
		handler.Register(r, spec, run)
		spec.ID, spec.On = "clean", handler.Delete
		handler.Register(r, spec, run)
	}
	// The first run of all takes the process down between its success and the
	// write of it.
	scenarios["dies"] = func(p *program, r handler.Registry) {
		handler.Register(r, handler.Spec{ID: "work", On: handler.Create | handler.Update | handler.Delete, Kind: testKind("Widget"), Labels: "test=" + p.Namespace},
			func(_ context.Context, req *request) (handler.Result, error) {
				p.write("after", req)
				first := filepath.Join(p.Scratch, "died-"+req.Cause.String())
				if _, err := os.Stat(first); errors.Is(err, os.ErrNotExist) {
					if err := os.WriteFile(first, nil, 0o600); err != nil {
						return handler.Result{}, err
					}
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {} // until it arrives
				}
				return handler.Result{}, nil
			})
	}
}

// Whatever moments the operator is killed at, each object's newest state is
// handled, a process repeats nothing, and what others wrote stays.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	for _, webhook := range []bool{true, false} {
		t.Run(fmt.Sprintf("webhook=%v", webhook), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.program("work", b.account("operator"))
			if webhook {
				b.serveWebhook(&p)
			}
			k := &killing{bench: b, program: p}
			k.begin()
			if webhook {
				b.awaitWebhook(b.object(testKind("Widget"), "one", `{"spec":{"size":1}}`))
			}
			objects := b.createMany("Widget", killedObjects, func(u *unstructured.Unstructured) {
				u.SetFinalizers([]string{foreignFinalizer})
				u.SetAnnotations(map[string]string{foreignAnnotation: "kept"})
				labels := u.GetLabels()
				labels[foreignLabel] = "kept"
				u.SetLabels(labels)
			})
			b.allHandled("Widget", killedObjects)
			t.Logf("all created, with %d kills", k.kills.Load())
			b.each(killedObjects, func(i int) error {
				return b.admin.Patch(t.Context(), objects[i].DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":2}}`)))
			})
			b.allHandled("Widget", killedObjects)
			t.Logf("all updated, with %d kills", k.kills.Load())
			b.each(killedObjects, func(i int) error { return b.admin.Delete(t.Context(), objects[i]) })
			b.awaitAll("Widget", killedObjects, func(u *unstructured.Unstructured) error {
				if slices.Contains(u.GetFinalizers(), b.key("finalizer")) {
					return errors.New("our finalizer is still there")
				}
				return nil
			})
			k.verify()
		})
	}
}

// killing kills the operator again and again while objects go through a life.
type killing struct {
	*bench
	program program
	kills   atomic.Int64
}

const (
	killedObjects  = 300
	killsPerPhase  = 2
	lineSize       = 300 // of a journal, about
	killingWorkers = 16  // the default of Options.Workers
)

// begin kills the operator each time that it has made some progress.
func (k *killing) begin() {
	ctx, cancel := context.WithCancel(k.Context())
	over := make(chan struct{})
	o := k.spawn(k.program)
	size := func() int64 {
		info, err := os.Stat(k.program.Journal)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			enough := size() + lineSize*(10+rand.Int64N(2*killedObjects/killsPerPhase))
			for size() < enough {
				select {
				case <-ctx.Done():
					return
				case <-o.done:
					k.Errorf("the operator ended by itself: %s", o.tail())
					return
				case <-time.After(time.Millisecond):
				}
			}
			o.kill()
			k.kills.Add(1)
			o = k.spawn(k.program)
		}
	}()
	k.Cleanup(func() { cancel(); <-over })
}

func (k *killing) verify() {
	k.Helper()
	journal := readJournal(k, k.program.Journal)
	perProcess, perID := map[string]int{}, map[string]int{}
	ids, newest, cleaned := map[string]string{}, map[string]int64{}, map[string]bool{}
	for _, e := range journal {
		if e.Phase == "after" {
			if e.Handler == "work" {
				newest[e.UID] = max(newest[e.UID], e.Size)
			}
			cleaned[e.UID] = cleaned[e.UID] || e.Handler == "clean"
			continue
		}
		if e.Attempt != 1 {
			k.Errorf("attempt %d of %s on %s: a killed one uses up none", e.Attempt, e.Handler, e.Name)
		}
		run := fmt.Sprint(e.UID, e.Handler, e.Cause, e.Size)
		if id, ok := ids[run]; ok && id != e.ID {
			k.Errorf("%s: %s as %s at size %d has two idempotency IDs", e.Name, e.Handler, e.Cause, e.Size)
		}
		ids[run] = e.ID
		perID[e.ID]++
		perProcess[fmt.Sprint(e.PID, e.ID)]++
		if n := perProcess[fmt.Sprint(e.PID, e.ID)]; n > 1 {
			k.Errorf("%s: %s as %s ran %d times in process %d", e.Name, e.Handler, e.Cause, n, e.PID)
		}
	}
	repeats := 0
	for _, n := range perID {
		repeats += n - 1
	}
	kills := int(k.kills.Load())
	k.Logf("%d runs, %d kills, %d repeats", len(ids), kills, repeats)
	if kills < 3 {
		k.Errorf("only %d kills: the test shows little", kills)
	}
	if repeats > kills*killingWorkers {
		k.Errorf("%d repeats by %d kills of %d workers", repeats, kills, killingWorkers)
	}
	for _, u := range k.list("Widget") {
		uid := string(u.GetUID())
		if newest[uid] != 2 || !cleaned[uid] {
			k.Errorf("%s: newest size seen is %d, cleaned up: %v", u.GetName(), newest[uid], cleaned[uid])
		}
		if !slices.Equal(u.GetFinalizers(), []string{foreignFinalizer}) || u.GetAnnotations()[foreignAnnotation] != "kept" || u.GetLabels()[foreignLabel] != "kept" {
			k.Errorf("%s: foreign metadata is not intact: %v", u.GetName(), u.Object["metadata"])
		}
	}
}

// handledNow tells whether the object is handled as it is now.
func handledNow(b *bench, u *unstructured.Unstructured) error {
	marker, err := storage.Prefix("dogear." + b.domain).Read(u.GetAnnotations())
	switch {
	case err != nil:
		return err
	case marker.Handled == nil || marker.Handled.Generation != u.GetGeneration() || marker.State != storage.Succeeded || marker.Progress != nil:
		return fmt.Errorf("generation %d is not handled", u.GetGeneration())
	}
	return nil
}

// serveWebhook serves admission for a program, which goes on when that ends.
func (b *bench) serveWebhook(p *program) *operator {
	b.Helper()
	scenario := *p // whose handlers never run here
	p.Webhook = freeAddress(b)
	return b.start(func(r handler.Registry) { scenarios[scenario.Scenario](&scenario, r) }, func(o *controller.Options) {
		o.Config, o.Roles = b.account("webhook"), controller.RoleWebhook
		o.Webhook = &controller.Webhook{
			Address: p.Webhook, URL: "https://" + p.Webhook, LameDuck: -1,
			ControllerUsers: []string{"system:serviceaccount:" + b.namespace + ":operator"},
		}
	})
}

// A handler whose process dies between its success and the write of it runs
// once more, told the same idempotency ID: on creation, on a change, and on
// deletion.
func TestKilledBetweenSuccessAndWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.program("dies", b.cp.AdminConfig())
	u := b.create(b.object(testKind("Widget"), "one", `{"spec":{"size":1}}`))
	dieAndCome := func() {
		t.Helper()
		b.spawn(p).awaitEnd()
		before := b.get(u)
		o := b.spawn(p)
		if before.GetDeletionTimestamp() != nil {
			b.awaitGone(u)
		} else {
			b.awaitHandled(u)
		}
		o.kill()
	}
	dieAndCome()
	b.merge(u, `{"spec":{"size":2}}`)
	dieAndCome()
	if err := b.admin.Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	dieAndCome()

	var got []string
	ids := map[string]bool{}
	for _, e := range readJournal(t, p.Journal) {
		got = append(got, fmt.Sprint(e.Cause, e.Attempt, e.Size))
		ids[e.ID] = true
	}
	if want := []string{"Create1 1", "Create1 1", "Update1 2", "Update1 2", "Delete1 2", "Delete1 2"}; !slices.Equal(got, want) {
		t.Errorf("runs are %q, want %q", got, want)
	}
	if len(ids) != 3 {
		t.Errorf("%d idempotency IDs, want one for each cause", len(ids))
	}
}

// A claimed attempt that takes its process down is used up.
func TestKilledInAClaimedAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.program("claims", b.cp.AdminConfig())
	u := b.create(b.object(testKind("Widget"), "one", `{"spec":{"size":1}}`))
	for range 2 {
		b.spawn(p).awaitEnd()
	}
	b.spawn(p)
	b.await(u, "Failed")
	journal := readJournal(t, p.Journal)
	if len(journal) != 2 || journal[0].Attempt != 1 || journal[1].Attempt != 2 || journal[0].ID != journal[1].ID {
		t.Errorf("runs are %+v, want the attempts 1 and 2 of one ID", journal)
	}
	if !journal[0].Started.Equal(journal[1].Started) {
		t.Errorf("started at %s and %s, want one time", journal[0].Started, journal[1].Started)
	}
}

func init() {
	// Each attempt takes the process down; two are allowed.
	scenarios["claims"] = func(p *program, r handler.Registry) {
		handler.Register(r, handler.Spec{ID: "work", On: handler.Create, Kind: testKind("Widget"), Labels: "test=" + p.Namespace, Claim: true, Retry: handler.Retry{Limit: 2}},
			func(_ context.Context, req *request) (handler.Result, error) {
				p.write("before", req)
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // until it arrives
			})
	}
}

// through is a configuration that goes through a proxy.
func through(t testing.TB, config *rest.Config) (*rest.Config, *rig.Proxy) {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := rig.NewProxy(target.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	config = rest.CopyConfig(config)
	config.Host = "https://" + proxy.Addr()
	return config, proxy
}

// A write whose answer is lost has landed or not. Either way the handler does
// not run again, and its outcome is recorded once.
func TestWriteWhoseFateIsUnknown(t *testing.T) {
	t.Parallel()
	for _, landed := range []bool{true, false} {
		t.Run(fmt.Sprintf("landed=%v", landed), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			config, proxy := through(t, b.cp.AdminConfig())
			var seen calls
			broken := make(chan struct{}, 1)
			b.start(func(r handler.Registry) {
				handler.Register(r, handler.Spec{ID: "work", On: handler.Create | handler.Resume, Kind: testKind("Widget"), Labels: "test=" + b.namespace},
					func(_ context.Context, req *request) (handler.Result, error) {
						if seen.add(req.Info) == 1 {
							if landed {
								proxy.Delay(700 * time.Millisecond)
							} else {
								proxy.Cut()
							}
							broken <- struct{}{}
						}
						return handler.Result{}, nil
					})
			}, func(o *controller.Options) { o.Config = config })
			u := b.create(b.object(testKind("Widget"), "one", `{"spec":{"size":1}}`))
			<-broken
			version := ""
			if landed {
				version = b.awaitHandled(u).GetResourceVersion()
				proxy.Cut()
			} else if handledNow(b, b.get(u)) == nil {
				t.Fatal("the write has passed a connection that is cut")
			}
			proxy.Restore()
			fresh := b.awaitHandled(u)
			if landed && fresh.GetResourceVersion() != version {
				t.Error("a write that had landed was repeated")
			}
			b.change(u, &seen, 1)
		})
	}
}

// change lets the operator look at the object once more, as it does at each
// event, and tells whether the handler has then run as often as it should.
func (b *bench) change(u *unstructured.Unstructured, seen *calls, want int) {
	b.Helper()
	b.merge(u, `{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}`)
	b.quiet(u)
	if all := seen.all(); len(all) != want {
		b.Errorf("the handler ran %d times, want %d: %+v", len(all), want, all)
	}
}

// The same where the process is killed before it learns that its write has
// landed.
func TestKilledAfterTheWriteHasLanded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, proxy := through(t, b.cp.AdminConfig())
	p := b.program("work", config)
	o := b.spawn(p)
	u := b.create(b.object(testKind("Widget"), "first", `{"spec":{"size":1}}`))
	b.awaitHandled(u)
	proxy.Delay(500 * time.Millisecond)
	u = b.create(b.object(testKind("Widget"), "one", `{"spec":{"size":1}}`))
	version := b.awaitHandled(u).GetResourceVersion()
	o.kill() // the answer is on its way
	proxy.Restore()
	b.spawn(p)
	b.awaitHandled(b.create(b.object(testKind("Widget"), "last", `{"spec":{"size":1}}`)))
	if b.get(u).GetResourceVersion() != version {
		t.Error("a settled object was written to")
	}
	runs := only(readJournal(t, p.Journal), func(e entry) bool { return e.Name == "one" && begun(e) })
	if len(runs) != 1 {
		t.Errorf("runs are %+v, want one", runs)
	}
}

// merge changes the object by a merge patch.
func (b *bench) merge(u *unstructured.Unstructured, body string, options ...client.PatchOption) {
	b.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(body))
	if err := b.admin.Patch(b.Context(), u.DeepCopy(), patch, options...); err != nil {
		b.Fatal(err)
	}
}

// awaitHandled waits until the object is handled as it is, and returns it.
func (b *bench) awaitHandled(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	var fresh *unstructured.Unstructured
	rigtest.Eventually(b, settle, func() error {
		fresh = b.get(u)
		if err := handledNow(b, fresh); err != nil {
			return fmt.Errorf("%w\n  %s", err, b.ours(fresh))
		}
		return nil
	})
	return fresh
}

// sizeOf is the spec.size of a test object, 0 where it has none.
func sizeOf(u *unstructured.Unstructured) int64 {
	size, _, _ := unstructured.NestedInt64(u.Object, "spec", "size")
	return size
}

// markerOf reads the operator's marker.
func (b *bench) markerOf(u *unstructured.Unstructured) storage.Marker {
	b.Helper()
	marker, err := storage.Prefix("dogear." + b.domain).Read(u.GetAnnotations())
	if err != nil {
		b.Fatal(err)
	}
	return marker
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
