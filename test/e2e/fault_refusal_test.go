package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// likeWidget is the CRD of Widget under another name.
func likeWidget(t *testing.T, kind string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := rig.TestCRDs("Widget")
	if err != nil {
		t.Fatal(err)
	}
	crd := crds[0].DeepCopy()
	lower := strings.ToLower(kind)
	crd.Name = lower + "s.test.dogear.dev"
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: lower + "s", Singular: lower}
	return crd
}

// rule sets the rule at the root of a CRD, and waits until it holds for u.
func (b *bench) rule(crd *apiextensionsv1.CustomResourceDefinition, rules apiextensionsv1.ValidationRules, refused bool, u *unstructured.Unstructured) {
	b.Helper()
	fresh := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(crd), fresh); err != nil {
		b.Fatal(err)
	}
	fresh.Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations = rules
	if err := b.admin.Update(b.Context(), fresh); err != nil {
		b.Fatal(err)
	}
	rigtest.Eventually(b, settle, func() error {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
		err := b.admin.Patch(b.Context(), u.DeepCopy(), patch, client.DryRunAll)
		if apierrors.IsInvalid(err) != refused || (!refused && err != nil) {
			return fmt.Errorf("the rule is not in force: %w", err)
		}
		return nil
	})
}

func blockedObjects(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "dogear_blocked" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no metric dogear_blocked")
	return 0
}

// An object that the stored rules of its kind break cannot be written to at
// all. That shows, costs few requests, and loses nothing: when the rule or the
// object is repaired, what was finished is recorded without another run.
func TestObjectThatCannotBeWritten(t *testing.T) {
	b := newBench(t) // not in parallel, for the count and the metric
	crd := likeWidget(t, "Ruled")
	if err := b.cp.InstallCRDs(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	kind := testKind("Ruled")
	h := b.held()
	b.startOn(kind, false, handler.Spec{ID: "work", On: handler.Create | handler.Update},
		func(ctx context.Context, req *request) (handler.Result, error) {
			_, err := h.run(ctx, req)
			return handler.Result{}, err
		})
	one := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
	h.enter()
	two := b.create(b.object(kind, "two", `{"spec":{"size":1}}`))
	h.enter()
	b.rule(crd, apiextensionsv1.ValidationRules{{Rule: "self.spec.size > 5", Message: "too small"}}, true, one)
	writes := b.count("ruleds")
	h.finish(nil)
	h.finish(nil)
	for _, u := range []*unstructured.Unstructured{one, two} {
		event := b.awaitOneEvent(u, controller.ReasonBlocked)
		if !strings.Contains(event.Note, "422") || strings.Contains(event.Note, "size") {
			t.Errorf("the event says %q: want the refusal, and no values", event.Note)
		}
	}
	if n := blockedObjects(t); n != 2 {
		t.Errorf("dogear_blocked is %v, want 2", n)
	}
	if main, _ := writes.patches(); main < 4 || main > 8 {
		t.Errorf("%d tries to write two objects until the event came, want two each, or little more", main)
	}
	// The object's owner repairs one, the kind's owner the other.
	b.merge(two, `{"spec":{"size":9}}`)
	if req := h.enter(); req.Cause != handler.Update || req.Attempt != 1 {
		t.Errorf("after the repair %s, attempt %d: want the first as Update", req.Cause, req.Attempt)
	}
	h.finish(nil)
	b.awaitHandled(two)
	b.rule(crd, nil, false, one)
	b.awaitHandled(one)
	if got := causes(h.seen.all()); !slices.Equal(got, []string{"Create", "Create", "Update"}) {
		t.Errorf("runs are %q, want none for what was finished", got)
	}
	rigtest.Eventually(b, settle, func() error {
		if n := blockedObjects(t); n != 0 {
			return fmt.Errorf("dogear_blocked is %v after the repair", n)
		}
		return nil
	})
}

// Without the right to patch, outcomes wait in memory; they are written when
// it is there again.
func TestRightToPatchTakenAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kind := testKind("Widget")
	rights := func(verbs ...string) rig.Rights {
		return rig.Rights{
			Cluster: []rbacv1.PolicyRule{
				{APIGroups: []string{"test.dogear.dev"}, Resources: []string{"*"}, Verbs: verbs},
				{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
			},
			Namespaced: map[string][]rbacv1.PolicyRule{b.namespace: {
				{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update"}},
			}},
		}
	}
	config, err := b.cp.ServiceAccountConfig(t.Context(), b.namespace, "patcher", rights("get", "list", "watch", "patch"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := b.held()
	spec := handler.Spec{ID: "work", On: handler.Create | handler.Update, Kind: kind, Labels: "test=" + b.namespace}
	b.start(func(r handler.Registry) { handler.Register(r, spec, h.run) }, func(o *controller.Options) { o.Config = config })
	u := b.create(b.object(kind, "one", `{"spec":{"size":1}}`))
	h.enter()
	if _, err := b.cp.ServiceAccountConfig(t.Context(), b.namespace, "patcher", rights("get", "list", "watch")); err != nil {
		t.Fatal(err)
	}
	rigtest.Eventually(b, settle, func() error {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
		if err := own.Patch(t.Context(), u.DeepCopy(), patch, client.DryRunAll); !apierrors.IsForbidden(err) {
			return errors.New("the right is still there")
		}
		return nil
	})
	h.finish(nil)
	event := b.awaitOneEvent(u, controller.ReasonBlocked)
	if !strings.Contains(event.Note, "missing rights") || !strings.Contains(event.Note, "patch") {
		t.Errorf("the event says %q: want the missing right", event.Note)
	}
	if _, err := b.cp.ServiceAccountConfig(t.Context(), b.namespace, "patcher", rights("get", "list", "watch", "patch")); err != nil {
		t.Fatal(err)
	}
	fresh := b.awaitHandled(u)
	if size, _, _ := nestedInt(fresh.Object, "status", "work", "size"); size != 1 {
		t.Errorf("status is %v: want the payload", fresh.Object["status"])
	}
	if got := causes(h.seen.all()); !slices.Equal(got, []string{"Create"}) {
		t.Errorf("runs are %q, want one", got)
	}
}

// A kind that is not there yet, or no more, holds up no other, and is handled
// from the moment it is there.
func TestKindThatComesLater(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	late, there := testKind("Late"), testKind("Widget")
	b.start(func(r handler.Registry) {
		run := func(_ context.Context, req *request) (handler.Result, error) {
			seen.add(req.Info)
			return handler.Result{}, nil
		}
		handler.Register(r, handler.Spec{ID: "late", On: handler.Create | handler.Update, Kind: late}, run)
		handler.Register(r, handler.Spec{ID: "there", On: handler.Create | handler.Update, Kind: there, Labels: "test=" + b.namespace}, run)
	})
	b.awaitHandled(b.create(b.object(there, "one", `{"spec":{"size":1}}`)))
	for range 2 {
		crd := likeWidget(t, "Late")
		if err := b.cp.InstallCRDs(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		u := b.object(late, "one", `{"spec":{"size":1}}`)
		rigtest.Eventually(b, settle, func() error { return b.admin.Create(t.Context(), u) }) // the server may still remember that it was gone
		b.awaitHandled(u)
		if err := b.admin.Delete(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		rigtest.Eventually(b, settle, func() error {
			err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(crd), &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("the CRD is still there: %w", err)
			}
			return nil
		})
	}
	b.awaitHandled(b.create(b.object(there, "two", `{"spec":{"size":1}}`)))
	if n := len(seen.all()); n != 4 {
		t.Errorf("%d runs, want 4", n)
	}
}
