package check

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
