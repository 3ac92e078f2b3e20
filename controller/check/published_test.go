package check

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/published"
)

const things = `{"components": {"schemas": {
  "io.g.v1.Thing": {
    "x-kubernetes-group-version-kind": [{"group": "g.io", "version": "v1", "kind": "Thing"}],
    "type": "object", "required": ["spec"],
    "properties": {
      "spec": {"allOf": [{"$ref": "#/components/schemas/io.g.v1.ThingSpec"}]},
      "status": {"type": "object", "properties": {
        "phase": {"type": "string"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "texts": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {"type": "object", "additionalProperties": true}}}}},
  "io.g.v1.ThingSpec": {"type": "object", "required": ["name", "mode", "size", "parts", "port", "on", "preset", "inner"],
    "properties": {
      "name": {"type": "string", "minLength": 7}, "mode": {"type": "string", "enum": ["Fast", "Slow"]},
      "size": {"type": "integer", "minimum": 3}, "port": {"x-kubernetes-int-or-string": true}, "on": {"type": "boolean"},
      "preset": {"type": "string", "default": "x"}, "parts": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}},
      "inner": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "other": {"type": "string"}}}}}}}}`

func parsed(t *testing.T) *published.Document {
	t.Helper()
	d, err := published.Parse([]byte(things), schema.GroupVersionKind{Group: "g.io", Version: "v1", Kind: "Thing"})
	if err != nil || d.Root == nil {
		t.Fatal(d, err)
	}
	return d
}

func TestWhatASchemaHas(t *testing.T) {
	t.Parallel()
	d := parsed(t)
	for path, want := range map[string]bool{
		"status": true, "status.phase": true, "status.myapp": false, "status.free.a.b": true, "status.texts.a": true,
		"status.texts.a.b": false, "status.any.a.b": true, "spec.inner.n": true, "spec.inner.m": false, "status.phase.x": false,
	} {
		if have := d.Keeps(strings.Split(path, "."), nil); have != want {
			t.Errorf("%s: %v", path, have)
		}
	}
	if (&published.Document{}).Keeps([]string{"status"}, nil) {
		t.Error("a kind without a schema has a status")
	}
}

func TestAnObjectOfWhatTheSchemaAsksFor(t *testing.T) {
	t.Parallel()
	d := parsed(t)
	set := &v1alpha1.ClusterHandlerSet{Spec: v1alpha1.HandlerSetSpec{Match: &v1alpha1.Match{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"l": "v"}},
		Annotations:   []v1alpha1.AnnotationMatch{{Key: "there"}, {Key: "equal", Value: new("x")}, {Key: "gone", Absent: true}},
	}}}
	s, err := newSelector(set, map[string]labels.Set{"a": nil, "default": nil}, labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	res := &resource{kind: schema.GroupVersionKind{Group: "g.io", Version: "v1", Kind: "Thing"}, namespaced: true}
	o := s.minimal(d, res)
	if !s.selects(o) || o.GetNamespace() != "default" || !strings.HasPrefix(o.GetName(), "dogear-check-") || o.GetLabels()["l"] != "v" {
		t.Errorf("its metadata is %v", o.Object["metadata"])
	}
	want := map[string]any{
		"name": "checkxx", "mode": "Fast", "size": int64(3), "port": int64(1), "on": false, "preset": "x",
		"parts": []any{map[string]any{"id": "check"}}, "inner": map[string]any{"n": int64(1)},
	}
	if !reflect.DeepEqual(o.Object["spec"], want) || len(o.Object) != 4 {
		t.Errorf("got %v", o.Object)
	}
	if s.places = nil; s.minimal(d, res) != nil {
		t.Error("there is an object without a namespace for it")
	}
}
