package handler

import (
	"reflect"
	"testing"
)

type object = map[string]any

func TestChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old, new object
		want     []Change
	}{
		"nothing changed":         {object{"spec": object{"a": int64(1)}}, object{"spec": object{"a": int64(1)}}, nil},
		"a value":                 {object{"spec": object{"a": "x"}}, object{"spec": object{"a": "y"}}, []Change{{"spec.a", "x", "y"}}},
		"added and removed":       {object{"a": "x"}, object{"b": "y"}, []Change{{"a", "x", nil}, {"b", nil, "y"}}},
		"null is absent":          {object{"a": nil}, object{}, nil},
		"a whole map is added":    {object{}, object{"spec": object{"a": "x", "b": object{"c": "y"}}}, []Change{{"spec.a", nil, "x"}, {"spec.b.c", nil, "y"}}},
		"a whole map is removed":  {object{"spec": object{"a": "x"}}, object{}, []Change{{"spec.a", "x", nil}}},
		"an empty map is removed": {object{"spec": object{}}, object{}, []Change{{"spec", object{}, nil}}},
		"an empty map is filled":  {object{"spec": object{}}, object{"spec": object{"a": "x"}}, []Change{{"spec.a", nil, "x"}}},
		"an empty map is added":   {object{}, object{"spec": object{}}, []Change{{"spec", nil, object{}}}},
		"a map becomes a value":   {object{"a": object{"b": "c"}}, object{"a": "b"}, []Change{{"a", object{"b": "c"}, "b"}}},
		"a list as a whole":       {object{"l": []any{"a", "b"}}, object{"l": []any{"a"}}, []Change{{"l", []any{"a", "b"}, []any{"a"}}}},
		"the order of a list":     {object{"l": []any{"a", "b"}}, object{"l": []any{"b", "a"}}, []Change{{"l", []any{"a", "b"}, []any{"b", "a"}}}},
		"maps in lists, equal":    {object{"l": []any{object{"a": int64(1)}}}, object{"l": []any{object{"a": 1.0}}}, nil},
		"1 is 1.0":                {object{"a": int64(1)}, object{"a": float64(1)}, nil},
		"great integers":          {object{"a": int64(1 << 53)}, object{"a": int64(1<<53 + 1)}, []Change{{"a", int64(1 << 53), int64(1<<53 + 1)}}},
		"1 is neither 1.5 nor 1s": {object{"a": int64(1), "b": int64(1)}, object{"a": 1.5, "b": "1"}, []Change{{"a", int64(1), 1.5}, {"b", int64(1), "1"}}},
		"false is not absent":     {object{}, object{"a": false}, []Change{{"a", nil, false}}},
		"sorted by path": {
			object{"b": "1", "a": object{"z": "1", "y": "1"}}, object{"b": "2", "a": object{"z": "2", "y": "2"}},
			[]Change{{"a.y", "1", "2"}, {"a.z", "1", "2"}, {"b", "1", "2"}},
		},
		"names that are no plain words are quoted": {
			object{"metadata": object{"labels": object{"app": "a", "example.com/size": "1", "it's": "x"}}},
			object{"metadata": object{"labels": object{"app": "b", "example.com/size": "2", "it's": "y"}}},
			[]Change{
				{"metadata.labels.app", "a", "b"},
				{`metadata.labels["it's"]`, "x", "y"},
				{"metadata.labels['example.com/size']", "1", "2"},
			},
		},
		"from nothing": {nil, object{"a": "x"}, []Change{{"a", nil, "x"}}},
		"to nothing":   {object{"a": "x"}, nil, []Change{{"a", "x", nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Changes(test.old, test.new); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
		})
	}
}

func TestChangesAreCopies(t *testing.T) {
	t.Parallel()
	old := object{"l": []any{object{"a": "x"}}}
	got := Changes(old, object{})
	got[0].Old.([]any)[0].(object)["a"] = "changed"
	if old["l"].([]any)[0].(object)["a"] != "x" {
		t.Error("a change of a Change has reached the object")
	}
}
