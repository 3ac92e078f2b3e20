package defaults_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets/defaults"
)

var names = rapid.SampledFrom([]string{"a", "b", "c"})

// tree draws a JSON value; few names, so that objects and defaults meet.
func tree(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 6
		if depth > 0 {
			kinds = 9
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.SampledFrom([]string{"", "x"}).Draw(t, "text")
		case 2:
			return rapid.Int64Range(0, 2).Draw(t, "number")
		case 3:
			return rapid.Bool().Draw(t, "truth")
		case 4:
			return []any{}
		case 5:
			return []any{"x", nil}
		case 6:
			return object{}
		}
		return fields(depth-1).Draw(t, "fields")
	})
}

func fields(depth int) *rapid.Generator[object] {
	return rapid.Custom(func(t *rapid.T) object {
		out := object{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			out[names.Draw(t, "name")] = tree(depth).Draw(t, "value")
		}
		return out
	})
}

var expressions = rapid.SampledFrom([]string{
	"1", "null", "object.spec.a", "object.spec.b", "object.spec.c.a", "object.?spec.?b.?c", "string(object.spec.a) + 'x'",
	"object.spec", "{'a': object.spec.b}", "{'a': null}", "[object.spec.c]", "has(object.spec.b) ? 'there' : 'absent'",
	"size(object.spec)", "object.metadata.labels.a", "namespaceObject.metadata.name",
})

var paths = rapid.SampledFrom([]string{
	"spec.a", "spec.b", "spec.c", "spec.a.a", "spec.b.c", "spec.c.a.b", "spec", "data", "metadata.labels.a", "metadata.annotations.b",
})

// kept tells whether all that is in before is in after, as it was.
func kept(before, after any) bool {
	old, ok := before.(object)
	if !ok {
		return reflect.DeepEqual(before, after)
	}
	now, ok := after.(object)
	if !ok {
		return false
	}
	for key, value := range old {
		if has, ok := now[key]; !ok || !kept(value, has) {
			return false
		}
	}
	return true
}

// Whatever is declared and given: filling in changes nothing that is there,
// nothing of what is given itself, nothing when it is done again, and is the
// same each time.
func TestFillingInIsSafeAndDoneAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := &unstructured.Unstructured{Object: object{
			"apiVersion": "v1", "kind": "X", "metadata": object{"name": "x", "namespace": "shop"}, "spec": tree(3).Draw(t, "spec"),
		}}
		if rapid.Bool().Draw(t, "labelled") {
			u.SetLabels(map[string]string{"a": "mine"})
		}
		d := &v1alpha1.Defaults{}
		raw, err := json.Marshal(object{"spec": tree(3).Draw(t, "default"), "metadata": object{"labels": object{"a": "x", "b": "y"}}})
		if err != nil {
			t.Fatal(err)
		}
		d.Values = &runtime.RawExtension{Raw: raw}
		for range rapid.IntRange(0, 5).Draw(t, "computed") {
			d.Computed = append(d.Computed, v1alpha1.ComputedDefault{Path: paths.Draw(t, "path"), Expression: expressions.Draw(t, "expression")})
		}
		fn, err := defaults.Compile(d, namespaces)
		if err != nil {
			t.Fatal(err)
		}
		before := u.DeepCopy()
		once, failed := fn(u, admission)
		twice, failedAgain := fn(once, admission)
		same, _ := fn(u, admission)
		switch {
		case !reflect.DeepEqual(u, before):
			t.Fatalf("the given object was changed: %v", u)
		case !kept(before.Object, once.Object):
			t.Fatalf("what was there is not kept:\n%v\n%v", before, once)
		case !reflect.DeepEqual(once, twice) || errorText(failed) != errorText(failedAgain):
			t.Fatalf("once more:\n%v %v\n%v %v", once, failed, twice, failedAgain)
		case !reflect.DeepEqual(once, same):
			t.Fatalf("another time:\n%v\n%v", once, same)
		}
	})
}
