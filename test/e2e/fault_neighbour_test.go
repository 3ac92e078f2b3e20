package e2e

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
)

// Two operators with webhooks that both change labels of the same objects come
// to rest after a few writes, and neither touches the other's state.
func TestTwoOperatorsOnTheSameObjects(t *testing.T) {
	kind := testKind("Widget")
	neighbour := func(b *bench, name string) (*bench, *calls) {
		c := *b
		c.domain = name + "." + b.domain
		seen := &calls{}
		config := c.account(name)
		address := freeAddress(b)
		c.start(func(r handler.Registry) {
			handler.Register(r, handler.Spec{ID: name, On: handler.Create | handler.Update | handler.Delete, Kind: kind, Labels: "test=" + b.namespace},
				func(_ context.Context, req *request) (handler.Result, error) {
					seen.add(req.Info)
					req.Patch.SetLabel(name, "done")
					return handler.Result{Status: map[string]any{name: "done"}}, nil
				})
		}, func(o *controller.Options) {
			o.Domain, o.Config = c.domain, config
			o.Webhook = &controller.Webhook{Address: address, URL: "https://" + address, LameDuck: -1}
		})
		c.awaitWebhook(c.object(kind, name, `{"spec":{"size":1}}`))
		return &c, seen
	}
	b := newBench(t)
	left, leftSeen := neighbour(b, "left")
	right, rightSeen := neighbour(b, "right")

	writes := b.count("widgets")
	u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
	atRest := func(what string, most int) *unstructured.Unstructured {
		t.Helper()
		left.awaitHandled(u)
		right.awaitHandled(u)
		b.quiet(u)
		fresh := b.get(u)
		for _, c := range []*bench{left, right} {
			if err := handledNow(c, fresh); err != nil {
				t.Errorf("%s: %s: %v: %s", what, c.domain, err, c.ours(fresh))
			}
			if !slices.Contains(fresh.GetFinalizers(), c.key("finalizer")) {
				t.Errorf("%s: %s: the finalizer is gone", what, c.domain)
			}
		}
		if fresh.GetLabels()["left"] != "done" || fresh.GetLabels()["right"] != "done" {
			t.Errorf("%s: labels are %v", what, fresh.GetLabels())
		}
		main, status := writes.stored()
		t.Logf("%s: %d writes and %d of status; runs %q and %q", what, main, status, causes(leftSeen.all()), causes(rightSeen.all()))
		if main+status > most {
			t.Errorf("%s: %d writes and %d of status, want at most %d", what, main, status, most)
		}
		return fresh
	}
	atRest("created", 14)
	if n := len(leftSeen.all()) + len(rightSeen.all()); n > 6 {
		t.Errorf("%d runs after the creation", n)
	}
	writes = b.count("widgets")
	b.merge(u, `{"spec":{"size":2}}`)
	fresh := atRest("changed", 9) // the test's own among them

	// Each restores its own alone.
	writes = b.count("widgets")
	wiped := fresh.DeepCopy()
	wiped.SetAnnotations(nil)
	wiped.SetFinalizers(nil)
	if err := b.admin.Update(t.Context(), wiped); err != nil {
		t.Fatal(err)
	}
	atRest("replaced", 0)
	if err := b.admin.Delete(t.Context(), u, client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
	b.awaitGone(u)
	for _, seen := range []*calls{leftSeen, rightSeen} {
		if got := causes(seen.all()); got[0] != "Create" || got[len(got)-1] != "Delete" || slices.Index(got, "Delete") != len(got)-1 {
			t.Errorf("runs are %q", got)
		}
	}
}
