package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
)

// What tools do to find out whether an object is as it should be shows no
// difference on a settled one, and does nothing; and who applies the same again
// in earnest takes nothing away.
func TestDryRunsOfSettledObjects(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		if slices.Contains([]string{"ConfigMap", "Strict", "Nested", "Phased", "Enumed"}, k.name) {
			continue // as Widget
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen calls
			b.startOn(k.kind, true, handler.Spec{ID: "work", On: handler.Create | handler.Update | handler.Delete, Diff: true},
				func(_ context.Context, req *request) (handler.Result, error) {
					seen.add(req.Info)
					return handler.Result{Status: map[string]any{"phase": "Ready"}}, nil
				})
			manifest := func() *unstructured.Unstructured { return b.object(k.kind, "one", k.body) }
			apply := func(options ...client.ApplyOption) *unstructured.Unstructured {
				t.Helper()
				u := manifest()
				options = append(options, client.FieldOwner("gitops"), client.ForceOwnership)
				if err := b.admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), options...); err != nil {
					t.Fatal(err)
				}
				return u
			}
			u := apply()
			b.awaitHandledOnce(u, &seen)
			b.quiet(u)
			settled := b.get(u)
			for i := range 10 {
				sameObject(t, fmt.Sprint("apply ", i), settled, apply(client.DryRunAll))
				updated := b.get(u)
				if err := b.admin.Update(t.Context(), updated, client.DryRunAll); err != nil {
					t.Fatal(err)
				}
				sameObject(t, fmt.Sprint("update ", i), settled, updated)
				if err := b.admin.Create(t.Context(), b.object(k.kind, "other", k.body), client.DryRunAll); err != nil {
					t.Fatal(err)
				}
			}
			sameObject(t, "afterwards", settled, b.get(u))
			apply()
			b.quiet(u)
			sameObject(t, "applied again", settled, b.get(u))
			if all := seen.all(); len(all) != 1 {
				t.Errorf("%d runs, want the first: %+v", len(all), all)
			}
			// A dry run of a change shows what admission will do; another the same.
			change := func() *unstructured.Unstructured {
				changed := b.get(u)
				changed.SetLabels(map[string]string{"test": b.namespace, "fresh": "a"})
				if err := b.admin.Update(t.Context(), changed, client.DryRunAll); err != nil {
					t.Fatal(err)
				}
				return changed
			}
			sameObject(t, "two dry runs of a change", change(), change())
			sameObject(t, "after the dry run of a change", settled, b.get(u))
		})
	}
}

func sameObject(t *testing.T, what string, want, got *unstructured.Unstructured) {
	t.Helper()
	want, got = want.DeepCopy(), got.DeepCopy()
	want.SetManagedFields(nil) // of dry runs, these have the time
	got.SetManagedFields(nil)
	if !equality.Semantic.DeepEqual(want, got) {
		t.Errorf("%s: is\n%s\nwant\n%s", what, toJSON(t, got), toJSON(t, want))
	}
}

// awaitHandledOnce waits until the object is handled, and its handler ran once.
func (b *bench) awaitHandledOnce(u *unstructured.Unstructured, seen *calls) {
	b.Helper()
	b.awaitHandled(u)
	if all := seen.all(); len(all) != 1 {
		b.Fatalf("%d runs, want 1: %+v", len(all), all)
	}
}
