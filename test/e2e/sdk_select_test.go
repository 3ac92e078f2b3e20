package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
)

// succeed is a handler that does nothing but count.
func succeed(seen *calls) runFunc {
	return func(_ context.Context, req *request) (handler.Result, error) {
		seen.add(req.Info)
		return handler.Result{}, nil
	}
}

// With a raised revision all objects are due once more, also across restarts,
// and with the same one none is.
func TestSDKRaisedRevisionMakesAllDueOnce(t *testing.T) {
	t.Parallel()
	for _, on := range []handler.Cause{handler.Create, handler.Create | handler.Update} {
		t.Run(on.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen calls
			spec := b.spec(testKind("Widget"), "myapp", on)
			restart := func(revision int64) *operator {
				spec.Revision = revision
				return b.start(one(spec, succeed(&seen)))
			}
			operator := restart(0)
			for _, name := range []string{"a", "b", "c"} {
				b.create(b.widget(name))
			}
			b.awaitCalls(&seen, 3)
			for i, revision := range []int64{2, 2, 1, 3} {
				b.await(b.widget("c"), "Succeeded")
				b.quiet(b.widget("a"))
				operator.stop()
				operator = restart(revision)
				b.awaitCalls(&seen, []int{6, 6, 6, 9}[i])
			}
			b.stays(b.widget("a"), &seen, 9)
			cause := on &^ handler.Create
			if cause == 0 {
				cause = handler.Create
			}
			for _, info := range seen.all()[3:] {
				if info.Cause != cause {
					t.Errorf("it ran as %s, want %s", info.Cause, cause)
				}
			}
		})
	}
}

// A handler that adopts runs on no object that is older than itself until that
// changes, and on each that is younger: with the webhook up, and down.
func TestSDKAdoptTakesOlderObjectsForHandled(t *testing.T) {
	t.Parallel()
	for _, webhook := range []bool{false, true} {
		t.Run(fmt.Sprintf("webhook=%v", webhook), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			old := b.create(b.widget("old"))
			b.outlive(old)
			var seen, later calls
			spec := b.spec(testKind("Widget"), "myapp", handler.Create|handler.Update)
			spec.Existing = handler.AdoptExisting
			var changes []func(*controller.Options)
			if webhook {
				changes = append(changes, b.withWebhook())
			}
			operator := b.start(one(spec, succeed(&seen)), changes...)
			b.await(old, "Succeeded")
			if webhook {
				b.awaitWebhook(b.widget("young"))
			}
			young := b.create(b.widget("young"))
			b.awaitCalls(&seen, 1)
			b.await(young, "Succeeded")
			b.resize(old, 2)
			b.awaitCalls(&seen, 2)
			b.await(old, "Succeeded")
			operator.stop()
			b.outlive(b.create(b.widget("meanwhile")))
			b.resize(young, 2)
			next := b.spec(testKind("Widget"), "later", handler.Create|handler.Update)
			next.Existing = handler.AdoptExisting
			b.start(func(r handler.Registry) {
				one(spec, succeed(&seen))(r)
				one(next, succeed(&later))(r)
			}, changes...)
			b.awaitCalls(&seen, 4)
			b.await(b.widget("meanwhile"), "Succeeded")
			b.await(young, "Succeeded")
			b.stays(old, &seen, 4)
			b.stays(old, &later, 0)
			b.resize(old, 3)
			b.awaitCalls(&later, 1)
			b.awaitCalls(&seen, 5)
			checkCauses(t, &later, handler.Update)
			var causes []handler.Cause
			for _, info := range seen.all() {
				causes = append(causes, info.Cause)
			}
			slices.Sort(causes)
			if want := []handler.Cause{handler.Create, handler.Create, handler.Update, handler.Update, handler.Update}; !slices.Equal(causes, want) {
				t.Errorf("it ran as %v, want %v", causes, want)
			}
		})
	}
}

// outlive waits until what is made now is younger: creation times have whole
// seconds.
func (b *bench) outlive(u *unstructured.Unstructured) {
	b.Helper()
	b.eventually(func() error {
		if time.Now().Truncate(time.Second).After(u.GetCreationTimestamp().Time) {
			return nil
		}
		return errors.New("the same second")
	})
}

// An object that loses what selects it is let go, without a call, and one that
// regains it is handled for what it is by then.
func TestSDKFiltersLetGoAndTakeUp(t *testing.T) {
	t.Parallel()
	big := handler.When(func(u *unstructured.Unstructured) bool {
		size, _, _ := unstructured.NestedInt64(u.Object, "spec", "size")
		return size < 10
	})
	for _, c := range []struct {
		name    string
		narrow  func(*handler.Spec)
		options []handler.RegisterOption[*unstructured.Unstructured]
		out, in string
	}{
		{"label", func(s *handler.Spec) { s.Labels = "app=web" }, nil, `{"metadata":{"labels":{"app":"x"}}}`, `{"metadata":{"labels":{"app":"web"}}}`},
		{"annotation", func(s *handler.Spec) { s.Annotations = map[string]handler.Match{"app": handler.Equals("web")} }, nil, `{"metadata":{"annotations":{"app":null}}}`, `{"metadata":{"annotations":{"app":"web"}}}`},
		{"predicate", func(*handler.Spec) {}, []handler.RegisterOption[*unstructured.Unstructured]{big}, `{"spec":{"size":11}}`, `{"spec":{"size":1}}`},
	} {
		for _, webhook := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/webhook=%v", c.name, webhook), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				var seen calls
				spec := b.spec(testKind("Widget"), "myapp", handler.Create|handler.Update|handler.Delete)
				c.narrow(&spec)
				var changes []func(*controller.Options)
				if webhook {
					changes = append(changes, b.withWebhook())
				}
				u := b.widget("one")
				u.SetLabels(map[string]string{"app": "web"})
				u.SetAnnotations(map[string]string{"app": "web"})
				b.start(func(r handler.Registry) { handler.Register(r, spec, succeed(&seen), c.options...) }, changes...)
				if webhook {
					b.awaitWebhook(u)
				}
				held := func(want bool) {
					t.Helper()
					b.eventually(func() error {
						if have := slices.Contains(b.get(u).GetFinalizers(), b.key("finalizer")); have != want {
							return fmt.Errorf("finalizers %v", b.get(u).GetFinalizers())
						}
						return nil
					})
				}
				b.create(u)
				b.awaitCalls(&seen, 1)
				held(true)
				b.await(u, "Succeeded")
				b.patch(u, c.out)
				held(false)
				b.patch(u, `{"spec":{"text":"changed"}}`)
				b.stays(u, &seen, 1)
				b.patch(u, c.in)
				all := b.awaitCalls(&seen, 2)
				if all[1].Cause != handler.Update {
					t.Errorf("it ran as %s", all[1].Cause)
				}
				held(true)
				b.await(u, "Succeeded")
				b.patch(u, c.out)
				held(false)
				if err := b.admin.Delete(t.Context(), u); err != nil {
					t.Fatal(err)
				}
				b.awaitGone(u)
				again := b.widget("one")
				again.SetLabels(map[string]string{"app": "web"})
				again.SetAnnotations(map[string]string{"app": "web"})
				b.create(again)
				b.awaitCalls(&seen, 3)
				if err := b.admin.Delete(t.Context(), again); err != nil {
					t.Fatal(err)
				}
				if all = b.awaitCalls(&seen, 4); all[3].Cause != handler.Delete {
					t.Errorf("it ran as %s", all[3].Cause)
				}
				b.awaitGone(again)
			})
		}
	}
}

// A handler that looks at its namespaces alone leaves others untouched.
func TestSDKNamespacesAreTheOnlyOnesLookedAt(t *testing.T) {
	t.Parallel()
	b, other := newBench(t), newBench(t)
	var seen calls
	b.start(one(b.spec(testKind("Widget"), "myapp", handler.Create|handler.Delete), succeed(&seen)))
	foreign := other.create(other.widget("one"))
	u := b.create(b.widget("one"))
	b.await(u, "Succeeded")
	b.stays(foreign, &seen, 1)
	if foreign = other.get(foreign); len(foreign.GetAnnotations())+len(foreign.GetFinalizers()) > 0 {
		t.Errorf("a foreign object carries %v, %v", foreign.GetAnnotations(), foreign.GetFinalizers())
	}
}

// Resume runs once for each object and process, and writes nothing.
func TestSDKResumeRunsOncePerProcessWithoutAWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	spec := b.spec(testKind("Widget"), "myapp", handler.Create|handler.Update|handler.Resume)
	register := one(spec, func(_ context.Context, req *request) (handler.Result, error) {
		seen.add(req.Info)
		req.Patch.SetLabel("handled", "yes")
		return handler.Result{Status: fields{"phase": "Running"}}, nil
	})
	operator := b.start(register)
	u := b.create(b.widget("one"))
	b.awaitCalls(&seen, 1)
	b.stays(u, &seen, 1)
	version := b.get(u).GetResourceVersion()
	for i := range 2 {
		operator.stop()
		operator = b.start(register)
		b.awaitCalls(&seen, 2+i)
		b.stays(u, &seen, 2+i)
		if now := b.get(u); now.GetResourceVersion() != version {
			t.Errorf("something was written: %s", b.ours(now))
		}
	}
	b.resize(u, 2)
	b.awaitCalls(&seen, 4)
	b.stays(u, &seen, 4)
	want := []handler.Cause{handler.Create, handler.Resume, handler.Resume, handler.Update}
	checkCauses(t, &seen, want...)
}

// What Resume patches is no change to itself.
func TestSDKResumeIsNotWokenByItsOwnPatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	spec := b.spec(testKind("Widget"), "myapp", handler.Create|handler.Update|handler.Resume)
	register := one(spec, func(_ context.Context, req *request) (handler.Result, error) {
		req.Patch.SetLabel("run", fmt.Sprint(seen.add(req.Info)))
		if req.Cause == handler.Resume && req.Attempt == 1 {
			return handler.Result{}, handler.Temporary("not yet", handler.After(soon))
		}
		return handler.Result{}, nil
	})
	operator := b.start(register)
	u := b.create(b.widget("one"))
	b.awaitCalls(&seen, 1)
	b.stays(u, &seen, 1)
	operator.stop()
	b.start(register)
	b.awaitCalls(&seen, 3)
	b.await(u, "Succeeded")
	b.stays(u, &seen, 3)
	b.resize(u, 2)
	b.awaitCalls(&seen, 4)
	b.await(u, "Succeeded")
	b.stays(u, &seen, 4)
	checkCauses(t, &seen, handler.Create, handler.Resume, handler.Resume, handler.Update)
}

func checkCauses(t *testing.T, seen *calls, want ...handler.Cause) {
	t.Helper()
	var have []handler.Cause
	for _, info := range seen.all() {
		have = append(have, info.Cause)
	}
	if !slices.Equal(have, want) {
		t.Errorf("it ran as %v, want %v", have, want)
	}
}
