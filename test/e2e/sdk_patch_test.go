package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
)

// versions counts what was stored of an object since its creation.
func (b *bench) versions(h *history, want int) {
	b.Helper()
	all := h.all()
	if len(all) == want {
		return
	}
	for i, u := range all {
		b.Logf("version %d: spec %v, labels %v, annotations %v", i, u.Object["spec"], u.GetLabels(), b.ours(u))
	}
	b.Errorf("%d versions of the object, want %d", len(all), want)
}

// What a handler patches is written with its outcome, and is no change to
// itself, whatever the server makes of it; to the other handlers it is one.
func TestSDKPatchIsWrittenOnceAndWakesTheOthersAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind string
		patch      func(*handler.Patch) error
		versions   int // created, and the writes of the controller
		check      func(*unstructured.Unstructured) bool
	}{
		{"labels and annotations", "Widget", func(p *handler.Patch) error {
			p.SetLabel("tier", "gold")
			p.SetAnnotation("example.com/note", "seen")
			return nil
		}, 3, func(u *unstructured.Unstructured) bool {
			return u.GetLabels()["tier"] == "gold" && u.GetAnnotations()["example.com/note"] == "seen"
		}},
		{"spec", "Widget", func(p *handler.Patch) error { return p.SetSpec("hello", "text") }, 3,
			func(u *unstructured.Unstructured) bool {
				return same(u.Object["spec"], fields{"size": 1, "text": "hello"})
			}},
		{"a field that the server prunes", "Widget", func(p *handler.Patch) error {
			return errors.Join(p.SetSpec("hello", "text"), p.SetSpec(1, "nonsense"))
		}, 4, func(u *unstructured.Unstructured) bool {
			return same(u.Object["spec"], fields{"size": 1, "text": "hello"})
		}},
		{"a duration of a Certificate", "Certificate", func(p *handler.Patch) error { return p.SetSpec("2160h", "duration") }, 3,
			func(u *unstructured.Unstructured) bool { return u.Object["spec"].(fields)["duration"] == "2160h" }},
		{"ports that the server completes", "Service", func(p *handler.Patch) error {
			return p.SetSpec([]any{fields{"port": 81}}, "ports")
		}, 4, func(u *unstructured.Unstructured) bool {
			return same(u.Object["spec"].(fields)["ports"], []any{fields{"port": 81, "protocol": "TCP", "targetPort": 81}})
		}},
	} {
		for _, webhook := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/webhook=%v", c.name, webhook), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				u := b.widget("one")
				for _, k := range kinds {
					if k.name == c.kind {
						u = b.object(k.kind, "one", k.body)
					}
				}
				var patching, before, after calls
				var changes []func(*controller.Options)
				if webhook {
					changes = append(changes, b.withWebhook())
				}
				b.start(func(r handler.Registry) {
					handler.Register(r, b.spec(u.GroupVersionKind(), "before", handler.Create|handler.Update), succeed(&before))
					handler.Register(r, b.spec(u.GroupVersionKind(), "patching", handler.Create|handler.Update), func(_ context.Context, req *request) (handler.Result, error) {
						patching.add(req.Info)
						return handler.Result{}, c.patch(req.Patch)
					})
					handler.Register(r, b.spec(u.GroupVersionKind(), "after", handler.Create), succeed(&after))
				}, changes...)
				if webhook {
					b.awaitWebhook(u)
				}
				h := b.history(u)
				b.create(u)
				b.awaitCalls(&before, 2)
				b.await(u, "Succeeded")
				b.stays(u, &patching, 1)
				b.stays(u, &before, 2)
				b.stays(u, &after, 1)
				u = b.get(u)
				if !c.check(u) {
					t.Errorf("spec %v, labels %v, annotations %v", u.Object["spec"], u.GetLabels(), u.GetAnnotations())
				}
				b.versions(h, c.versions)
				if all := before.all(); all[1].Cause != handler.Update {
					t.Errorf("the other handler ran as %s", all[1].Cause)
				}
			})
		}
	}
}

// Alone, a handler that patches costs one write, what it had to correct one
// more, and none on later changes by a user to which it says the same.
func TestSDKPatchByTheOnlyHandler(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	u := b.object(kinds[1].kind, "one", kinds[1].body)
	b.start(one(b.spec(u.GroupVersionKind(), "myapp", handler.Create|handler.Update|handler.Resume), func(_ context.Context, req *request) (handler.Result, error) {
		seen.add(req.Info)
		req.Patch.SetLabel("seen", "yes")
		return handler.Result{Status: fields{"phase": "Patched"}}, req.Patch.SetSpec([]any{fields{"port": 81}}, "ports")
	}))
	h := b.history(u)
	b.create(u)
	b.await(u, "Succeeded")
	b.stays(u, &seen, 1)
	b.versions(h, 3)
	b.patch(u, `{"metadata":{"labels":{"user":"wish"}}}`)
	b.awaitCalls(&seen, 2)
	b.await(u, "Succeeded")
	b.stays(u, &seen, 2)
	if u = b.get(u); u.GetLabels()["seen"] != "yes" || u.GetLabels()["user"] != "wish" || !same(b.annotated(u, "myapp"), fields{"phase": "Patched"}) {
		t.Errorf("labels %v; %s", u.GetLabels(), b.ours(u))
	}
}

// A patch that the server refuses fails its handler for good. It takes neither
// the payload along nor what others have finished.
func TestSDKPatchThatTheServerRefusesFailsItsHandlerAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind string
		patch      func(*handler.Patch) error
	}{
		{"wrong type", "Widget", func(p *handler.Patch) error { return p.SetSpec("many", "size") }},
		{"immutable", "Frozen", func(p *handler.Patch) error { return p.SetSpec(7, "size") }},
		{"wrong type of a core kind", "Service", func(p *handler.Patch) error { return p.SetSpec("many", "ports") }},
		{"a value out of bounds", "Service", func(p *handler.Patch) error { return p.SetSpec([]any{fields{"port": 99999}}, "ports") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen, fine calls
			u := b.object(testKind(c.kind), "one", `{"spec":{"size":1}}`)
			if c.kind == "Service" {
				u = b.object(kinds[1].kind, "one", kinds[1].body)
			}
			shown := func(id string) any {
				if c.kind == "Service" {
					return b.annotated(u, id)
				}
				return inStatus(u, id)
			}
			b.start(func(r handler.Registry) {
				handler.Register(r, b.spec(u.GroupVersionKind(), "fine", handler.Create), func(_ context.Context, req *request) (handler.Result, error) {
					fine.add(req.Info)
					req.Patch.SetLabel("fine", "yes")
					return handler.Result{Status: fields{"phase": "Fine"}}, nil
				})
				handler.Register(r, b.spec(u.GroupVersionKind(), "myapp", handler.Create), func(_ context.Context, req *request) (handler.Result, error) {
					seen.add(req.Info)
					return handler.Result{Status: fields{"phase": "Patched"}}, c.patch(req.Patch)
				})
			})
			b.create(u)
			u = b.await(u, "Failed")
			b.stays(u, &seen, 1)
			b.stays(u, &fine, 1)
			u = b.get(u)
			if r := b.record(u, "myapp"); r["reason"] != handler.ReasonBadPatch {
				t.Errorf("the record is %v", r)
			}
			if !same(shown("myapp"), fields{"phase": "Patched"}) || !same(shown("fine"), fields{"phase": "Fine"}) || u.GetLabels()["fine"] != "yes" {
				t.Errorf("status %v, labels %v", u.Object["status"], u.GetLabels())
			}
			b.awaitOneEvent(u, "HandlerFailed")
		})
	}
}

// With the webhook a handler knows what has changed since it finished, and who
// did it; without, it knows that it doesn't.
func TestSDKDiffAndByAreKnownWithTheWebhook(t *testing.T) {
	t.Parallel()
	for _, webhook := range []bool{false, true} {
		t.Run(fmt.Sprintf("webhook=%v", webhook), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			u := b.object(kinds[1].kind, "one", kinds[1].body)
			plain, typed := make(chan *request, 9), make(chan *handler.Request[*corev1.Service], 9)
			spec, service := b.spec(u.GroupVersionKind(), "plain", handler.Create|handler.Update), b.spec(u.GroupVersionKind(), "typed", handler.Create|handler.Update)
			spec.Diff, service.Diff = true, true
			var changes []func(*controller.Options)
			if webhook {
				changes = append(changes, b.withWebhook())
			}
			b.start(func(r handler.Registry) {
				handler.Register(r, spec, func(_ context.Context, req *request) (handler.Result, error) {
					plain <- req
					return handler.Result{}, nil
				})
				handler.Register(r, service, func(_ context.Context, req *handler.Request[*corev1.Service]) (handler.Result, error) {
					typed <- req
					if req.Attempt == 1 && req.Cause == handler.Update {
						return handler.Result{}, handler.Temporary("not yet", handler.After(soon))
					}
					return handler.Result{}, nil
				})
			}, changes...)
			user := ""
			if webhook {
				b.awaitWebhook(u)
				user = "system:admin"
			}
			b.create(u)
			first, created := <-plain, <-typed
			if first.Known || created.Known || first.Cause != handler.Create || created.Cause != handler.Create {
				t.Errorf("at creation: %+v %+v", first, created)
			}
			b.await(u, "Succeeded")
			b.patch(u, `{"spec":{"ports":[{"port":80,"protocol":"TCP","targetPort":8080}]},"metadata":{"labels":{"a.b/c":"d"}}}`)
			for _, req := range []*handler.Request[*corev1.Service]{<-typed, <-typed} {
				if req.Known != webhook || (user != "" && req.By == "") || (user == "" && req.By != "") {
					t.Errorf("attempt %d: known %v, by %q", req.Attempt, req.Known, req.By)
				}
				if webhook && (req.Old.Spec.Ports[0].TargetPort.IntValue() != 80 || req.Old.Name != "one" || req.Object.Spec.Ports[0].TargetPort.IntValue() != 8080 || len(req.Changes) != 2) {
					t.Errorf("old %+v, changes %v", req.Old.Spec, req.Changes)
				}
			}
			req := <-plain
			b.await(u, "Succeeded")
			if !webhook {
				if req.Known || req.Old != nil {
					t.Errorf("known without a webhook: %+v", req.Changes)
				}
				return
			}
			if len(req.Changes) != 2 || req.Changes[0].Path != "metadata.labels['a.b/c']" || req.Changes[0].New != "d" || req.Changes[1].Path != "spec.ports" {
				t.Errorf("changes are %v", req.Changes)
			}
			ports, _, err := unstructured.NestedSlice(req.Old.Object, "spec", "ports")
			if err != nil || len(ports) != 1 {
				t.Fatalf("old ports %v: %v", ports, err)
			}
			if port, ok := ports[0].(fields)["port"].(int64); !ok || port != 80 {
				t.Errorf("the old port is %T %v, want an int64 as the API's objects have it", ports[0].(fields)["port"], ports[0])
			}
			if have, ok := b.get(u).GetAnnotations()[b.key("base")]; ok {
				t.Errorf("nothing is pending, but base is kept: %s", have)
			}
		})
	}
}

// By names the user that made the change, also when another made the last one.
func TestSDKByNamesTheUser(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	b.start(one(b.spec(testKind("Widget"), "myapp", handler.Create|handler.Update), succeed(&seen)), b.withWebhook())
	u := b.widget("one")
	b.awaitWebhook(u)
	someone, err := client.New(b.account("someone"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.create(u)
	b.awaitCalls(&seen, 1)
	b.await(u, "Succeeded")
	fresh := b.get(u)
	if err := someone.Patch(t.Context(), fresh, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":5}}`))); err != nil {
		t.Fatal(err)
	}
	all := b.awaitCalls(&seen, 2)
	if want := "system:serviceaccount:" + b.namespace + ":someone"; all[1].By != want || all[0].By == want || all[0].By == "" {
		t.Errorf("by %q and %q, want %q", all[0].By, all[1].By, want)
	}
}

// Typed and metadata-only handlers, and several operators in one process, work
// on the same objects without waking each other.
func TestSDKTypedHandlersOfSeveralOperators(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	u := b.object(certificateKind, "one", kinds[0].body)
	var plain, metadata, typed calls
	second := *b
	second.domain = "other." + b.domain
	names := make(chan []string, 9)
	b.start(func(r handler.Registry) {
		handler.Register(r, b.spec(certificateKind, "plain", handler.Create|handler.Update|handler.Delete), succeed(&plain))
		handler.Register(r, b.spec(certificateKind, "metadata", handler.Create|handler.Update), func(_ context.Context, req *handler.Request[*metav1.PartialObjectMetadata]) (handler.Result, error) {
			metadata.add(req.Info)
			if req.Object.Name != "one" || req.Object.Kind != "Certificate" || req.Object.Labels["test"] != b.namespace {
				t.Errorf("metadata is %+v", req.Object)
			}
			return handler.Result{Status: fields{"phase": "Known"}}, nil
		})
	}, b.withWebhook())
	second.start(func(r handler.Registry) {
		spec := b.spec(certificateKind, "plain", handler.Create|handler.Update|handler.Delete)
		handler.Register(r, spec, func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
			typed.add(req.Info)
			names <- req.Object.Spec.DNSNames
			if req.Attempt == 1 {
				return handler.Result{Status: fields{"phase": "Pending"}}, handler.Temporary("not yet", handler.After(soon))
			}
			return handler.Result{Status: fields{"phase": "Done"}}, nil
		})
	}, func(o *controller.Options) {
		b.withWebhook()(o)
		o.Config = second.account("second")
	})
	b.awaitWebhook(u)
	second.awaitWebhook(u)
	b.create(u)
	b.awaitCalls(&plain, 1)
	if have := <-names; len(have) != 1 || have[0] != "a.example.com" {
		t.Errorf("dnsNames are %v", have)
	}
	second.awaitCalls(&typed, 2)
	b.await(u, "Succeeded")
	second.await(u, "Succeeded")
	b.patch(u, `{"spec":{"dnsNames":["b.example.com"]}}`)
	second.awaitCalls(&typed, 4)
	b.awaitCalls(&plain, 2)
	b.awaitCalls(&metadata, 2)
	b.await(u, "Succeeded")
	u = second.await(u, "Succeeded")
	b.stays(u, &typed, 4)
	b.stays(u, &plain, 2)
	b.stays(u, &metadata, 2)
	if !same(b.annotated(u, "metadata"), fields{"phase": "Known"}) || !same(second.annotated(u, "plain"), fields{"phase": "Done"}) {
		t.Errorf("payloads: %s", b.ours(u))
	}
	if err := b.admin.Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	b.awaitGone(u)
	b.awaitCalls(&plain, 3)
	b.awaitCalls(&typed, 6)
}
