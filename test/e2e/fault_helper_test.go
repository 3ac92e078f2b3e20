package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// startOn starts an operator with one handler for the objects of a kind in the
// test's namespace, with the webhook or without.
func (b *bench) startOn(kind schema.GroupVersionKind, webhook bool, spec handler.Spec, run func(context.Context, *request) (handler.Result, error)) *operator {
	b.Helper()
	var changes []func(*controller.Options)
	if webhook {
		changes = append(changes, b.withWebhook())
	}
	spec.Kind, spec.Labels = kind, "test="+b.namespace
	o := b.start(func(r handler.Registry) { handler.Register(r, spec, run) }, changes...)
	if webhook {
		b.awaitWebhook(b.object(kind, "one", bodyOf(kind)))
	}
	return o
}

// list returns the objects of a kind in the test's namespace.
func (b *bench) list(kind string) []unstructured.Unstructured {
	b.Helper()
	items, err := b.tryList(kind)
	if err != nil {
		b.Fatal(err)
	}
	return items
}

func (b *bench) tryList(kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(testKind(kind + "List"))
	err := b.admin.List(b.Context(), list, client.InNamespace(b.namespace))
	return list.Items, err
}

// awaitAll waits until there are so many objects of a kind in the namespace,
// and all are as they should be. The server may fail to answer meanwhile.
func (b *bench) awaitAll(kind string, number int, check func(*unstructured.Unstructured) error) {
	b.Helper()
	next := time.Now()
	rigtest.Eventually(b, 2*settle, func() error {
		if time.Now().Before(next) {
			return errors.New("looked just now")
		}
		next = time.Now().Add(250 * time.Millisecond)
		items, err := b.tryList(kind)
		if err != nil {
			return err
		}
		if len(items) != number {
			return fmt.Errorf("there are %d objects, want %d", len(items), number)
		}
		for i := range items {
			if err := check(&items[i]); err != nil {
				return fmt.Errorf("%s: %w\n  %s", items[i].GetName(), err, b.ours(&items[i]))
			}
		}
		return nil
	})
}

func (b *bench) allHandled(kind string, number int) {
	b.Helper()
	b.awaitAll(kind, number, func(u *unstructured.Unstructured) error { return handledNow(b, u) })
}

// createMany creates so many objects of a kind, some at a time.
func (b *bench) createMany(kind string, number int, change func(*unstructured.Unstructured)) []*unstructured.Unstructured {
	b.Helper()
	out := make([]*unstructured.Unstructured, number)
	b.each(number, func(i int) error {
		out[i] = b.object(testKind(kind), fmt.Sprintf("n%d", i), `{"spec":{"size":1}}`)
		if change != nil {
			change(out[i])
		}
		return b.admin.Create(b.Context(), out[i])
	})
	return out
}

// each calls f for the numbers below the given one, some at a time.
func (b *bench) each(number int, f func(int) error) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for i := range number {
		group.Go(func() error { return f(i) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

func bodyOf(kind schema.GroupVersionKind) string {
	for _, k := range kinds {
		if k.kind == kind {
			return k.body
		}
	}
	return "{}"
}

func nestedInt(object map[string]any, path ...string) (int64, bool, error) {
	return unstructured.NestedInt64(object, path...)
}

// kindsOf lists the kinds of a ledger.
func kindsOf(t *testing.T, ledger string) []string {
	t.Helper()
	var l struct{ Kinds []string }
	if err := json.Unmarshal([]byte(ledger), &l); err != nil {
		t.Fatal(err)
	}
	return l.Kinds
}
