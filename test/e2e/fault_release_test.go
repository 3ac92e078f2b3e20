package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// No object is held for a delete handler that is gone: neither where another
// release lacks the handler, nor where it lacks all handlers of the kind, nor
// where the object left the selection while nobody looked. Other finalizers
// stay.
func TestFinalizerThatNobodyNeedsAnyMore(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, *request) (handler.Result, error) { return handler.Result{}, nil }
	never := func(context.Context, *request) (handler.Result, error) {
		t.Error("a delete handler ran")
		return handler.Result{}, nil
	}
	b := newBench(t)
	selector := "test=" + b.namespace
	work := handler.Spec{ID: "work", On: handler.Create, Kind: testKind("Widget"), Labels: selector}
	clean := handler.Spec{ID: "clean", On: handler.Delete, Kind: testKind("Widget"), Labels: selector}
	other := handler.Spec{ID: "other", On: handler.Create | handler.Delete, Kind: testKind("Strict"), Labels: selector}
	start := func(specs ...handler.Spec) *operator {
		return b.start(func(r handler.Registry) {
			for _, spec := range specs {
				run := ok
				if spec.ID == "clean" {
					run = never
				}
				handler.Register(r, spec, run)
			}
		})
	}
	held := func(kind, name string) *unstructured.Unstructured {
		u := b.object(testKind(kind), name, `{"spec":{"size":1}}`)
		u.SetFinalizers([]string{foreignFinalizer})
		b.create(u)
		rigtest.Eventually(b, settle, func() error {
			if !slices.Contains(b.get(u).GetFinalizers(), b.key("finalizer")) {
				return errors.New("the finalizer is not there yet")
			}
			return nil
		})
		return u
	}
	released := func(us ...*unstructured.Unstructured) {
		t.Helper()
		for _, u := range us {
			rigtest.Eventually(b, settle, func() error {
				if got := b.get(u).GetFinalizers(); !slices.Equal(got, []string{foreignFinalizer}) {
					return fmt.Errorf("%s: the finalizers are %q", u.GetName(), got)
				}
				return nil
			})
		}
	}

	o := start(work, clean, other)
	one, deleted, strict := held("Widget", "one"), held("Widget", "deleted"), held("Strict", "strict")
	b.awaitHandled(one)
	o.stop()
	if err := b.admin.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	b.merge(strict, `{"metadata":{"labels":{"test":"left"}}}`)

	o = start(work, other) // the handler is gone
	released(one, deleted)
	released(strict) // it has left the selection
	o.stop()

	o = start(work, clean, other)
	two := held("Widget", "two")
	o.stop()
	if err := b.admin.Delete(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	start(other) // the kind is gone
	released(two, one)
	rigtest.Eventually(b, settle, func() error {
		ledger := &corev1.ConfigMap{}
		if err := b.admin.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "dogear." + b.domain}, ledger); err != nil {
			return err
		}
		if text := ledger.Data["ledger.json"]; text == "" || slices.Contains(kindsOf(t, text), "Widget.v1.test.dogear.dev") {
			return fmt.Errorf("the ledger still lists the kind: %s", text)
		}
		return nil
	})
	for _, u := range []*unstructured.Unstructured{one, two, deleted, strict} {
		b.merge(u, `{"metadata":{"finalizers":null}}`)
		if err := client.IgnoreNotFound(b.admin.Delete(t.Context(), u)); err != nil {
			t.Fatal(err)
		}
		b.awaitGone(u)
	}
}
