package handlertest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
)

const (
	testUID       = "00000000-0000-4000-8000-000000000001"
	testFinalizer = "dogear.test/finalizer"
)

// complete sets what every stored object has.
func complete(u *unstructured.Unstructured, h *compiled, kind schema.GroupVersionKind) {
	u.SetGroupVersionKind(kind)
	if u.GetUID() == "" {
		u.SetUID(testUID)
	}
	if u.GetName() == "" {
		u.SetName("test")
	}
	if u.GetResourceVersion() == "" {
		u.SetResourceVersion("1")
	}
	if u.GetGeneration() == 0 {
		u.SetGeneration(1)
	}
	if h.Spec.On&handler.Delete != 0 && len(u.GetFinalizers()) == 0 {
		u.SetFinalizers([]string{testFinalizer})
	}
}

func markDeleted(u *unstructured.Unstructured, now time.Time) {
	if u.GetDeletionTimestamp() == nil {
		u.SetDeletionTimestamp(&metav1.Time{Time: now})
	}
}

func mustBeDue(t testing.TB, h *compiled, u *unstructured.Unstructured, o Options) {
	t.Helper()
	selected, err := h.Selects(u)
	switch {
	case err != nil:
		t.Fatalf("handlertest: %v", err)
	case !selected:
		t.Fatalf("handlertest: handler %q does not select the object, so it would not run: see Selects to test that", h.Spec.ID)
	case o.Cause&(o.Cause-1) != 0 || o.Cause&h.Spec.On == 0:
		t.Fatalf("handlertest: the cause is %s, but handler %q is declared for %s: it would not run", o.Cause, h.Spec.ID, h.Spec.On)
	case o.Old != nil && !h.Spec.Diff:
		t.Fatalf("handlertest: Options.Old is set, but Spec.Diff is not: handler %q would not know of it", h.Spec.ID)
	}
}

// request is what the operator would tell the handler.
func request(t testing.TB, h *compiled, set *selection.Set, u *unstructured.Unstructured, o Options) *handler.RawRequest {
	t.Helper()
	limit := h.Spec.Retry.Limit
	r := &handler.RawRequest{Object: u, Info: handler.Info{
		HandlerID: h.Spec.ID, Cause: o.Cause,
		Attempt: o.Attempt, LastAttempt: limit > 0 && o.Attempt >= limit,
		Started: o.Started, IdempotencyID: o.IdempotencyID, Fence: o.Fence, By: o.By,
		Payloads: payloads(t, h, u, o), Patch: &handler.Patch{},
	}}
	if h.Spec.Retry.Timeout > 0 {
		r.Deadline = o.Started.Add(h.Spec.Retry.Timeout)
	}
	if r.IdempotencyID == "" {
		r.IdempotencyID = fmt.Sprintf("%s/%s/%s/%s", h.Spec.ID, u.GetUID(), o.Cause, set.Rules.Digest(u.Object))
	}
	if o.Old != nil {
		compare(t, set, r, plain(t, o.Old))
	}
	return r
}

// compare fills in the essence of the old object, and what has changed since.
func compare(t testing.TB, set *selection.Set, r *handler.RawRequest, old *unstructured.Unstructured) {
	t.Helper()
	before := decode(t, set.Rules.Essence(old.Object))
	r.Changes = handler.Changes(before, decode(t, set.Rules.Essence(r.Object.Object)))
	r.Old = &unstructured.Unstructured{Object: before}
	r.Old.SetGroupVersionKind(r.Object.GroupVersionKind())
	r.Old.SetNamespace(r.Object.GetNamespace())
	r.Old.SetName(r.Object.GetName())
	r.Old.SetUID(r.Object.GetUID())
}

func payloads(t testing.TB, h *compiled, u *unstructured.Unstructured, o Options) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	own, found, _ := unstructured.NestedFieldNoCopy(u.Object, append([]string{"status"}, h.StatusPath()...)...)
	if found && h.Spec.Status.Target == handler.Auto {
		out[h.Spec.ID] = encode(t, own)
	}
	for id, payload := range o.Payloads {
		out[id] = encode(t, payload)
	}
	return out
}
