package check

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestResultsOfResourcesTogether(t *testing.T) {
	t.Parallel()
	good, bad, unknown := passed("a: stamped"), failed("b: not stamped").hint("mend"), skipped("c: nothing to try").hint("--object")
	for _, c := range []struct {
		all  []Result
		want Result
	}{
		{nil, skipped("no set declares a resource")},
		{[]Result{good}, Result{Verdict: OK, Message: "objects come back stamped"}},
		{[]Result{good, unknown}, Result{Verdict: OK, Message: "objects of 1 of 2 resources come back stamped", Hint: "--object"}},
		{[]Result{unknown}, Result{Verdict: Skipped, Message: "no object could be tried", Hint: "--object"}},
		{[]Result{good, unknown, bad}, Result{Verdict: Failed, Message: "objects come back without a stamp: the webhook was not called, or has not answered in time", Hint: "mend"}},
	} {
		have := together(slices.Clone(c.all))
		if len(have.Objects) != len(c.all) {
			t.Errorf("objects %q", have.Objects)
		}
		have.Objects = nil
		if !reflect.DeepEqual(have, c.want) {
			t.Errorf("got %+v, want %+v", have, c.want)
		}
	}
}

func TestACopyIsBornAnew(t *testing.T) {
	t.Parallel()
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "status": map[string]any{"loadBalancer": map[string]any{}},
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "finalizers": []any{"x/y"}, "ownerReferences": []any{map[string]any{}},
			"labels": map[string]any{"a": "b"}, "annotations": map[string]any{"dogear.dev/state": "Failed", "dogear.other/x": "y", "c": "d"},
		},
		"spec": map[string]any{"clusterIP": "10.0.0.1", "clusterIPs": []any{"10.0.0.1"}, "healthCheckNodePort": int64(3), "ports": []any{map[string]any{"port": int64(80), "nodePort": int64(30000)}}},
	}}
	have := newborn(service)
	name := have.GetName()
	if !strings.HasPrefix(name, "dogear-check-") {
		t.Errorf("its name is %q", name)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": name, "namespace": "shop", "labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"}},
		"spec":     map[string]any{"ports": []any{map[string]any{"port": int64(80)}}},
	}
	if !reflect.DeepEqual(have.Object, want) {
		t.Errorf("got %v", have.Object)
	}
	if service.GetUID() != "u" || service.GetAnnotations()["dogear.dev/state"] == "" {
		t.Errorf("the original was changed: %v", service.Object)
	}
}

// Objects that are tried are copies of those of users, and what refuses them may
// repeat their values.
func TestARefusalIsToldWithoutTheValuesOfTheObject(t *testing.T) {
	t.Parallel()
	const value = "hunter2"
	secrets := schema.GroupResource{Resource: "secrets"}
	kind := schema.GroupKind{Kind: "Secret"}
	ours := &mutating{Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "secrets.dogear.dev"}}}
	res := &resource{name: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
	for _, c := range []struct {
		err     error
		verdict Verdict
		text    string
	}{
		{apierrors.NewInvalid(kind, "x", field.ErrorList{field.Invalid(field.NewPath("data"), value, value)}), Skipped, "(a copy of shop/x): it breaks a rule of its kind: data (FieldValueInvalid)"},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: "Forbidden", Message: `admission webhook "keep.example.com" denied the request: ` + value}}, Skipped,
			`(a copy of shop/x): admission webhook "keep.example.com" refuses it (403)`},
		{apierrors.NewForbidden(secrets, "x", errors.New(value)), Skipped, "(a copy of shop/x): the API server or a policy refuses it (403)"},
		{apierrors.NewForbidden(secrets, "x", errors.New(`User "me" cannot create resource "secrets"`)), Skipped, `secrets: rights are missing: user "me" cannot create resource "secrets"`},
		{apierrors.NewInternalError(errors.New(`failed calling webhook "secrets.dogear.dev": ` + value)), Failed, "secrets: no webhook of Dogear's answers"},
		{errors.New(value), Skipped, "the API server does not answer"},
	} {
		have := outcome(res, "a copy of shop/x", ours, c.err)
		if have.Verdict != c.verdict || !strings.Contains(have.Message, c.text) || have.Hint == "" || strings.Contains(have.Message+have.Hint, value) {
			t.Errorf("%v: got %+v", c.err, have)
		}
	}
}
