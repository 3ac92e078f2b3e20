package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A removal that is declared again after it was not is another one: what was
// removed may have come again in between.
func TestARemovalThatComesAgainIsAnotherOne(t *testing.T) {
	t.Parallel()
	op, err := New(Options{Domain: "example.com", Declared: true})
	if err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	serial := func(removals map[schema.GroupVersionKind]Removal) int64 {
		t.Helper()
		if err := op.Declare(Declaration{Removals: removals}); err != nil {
			t.Fatal(err)
		}
		return op.declared.removals[kind].serial
	}
	of := func(all bool, ids ...string) map[schema.GroupVersionKind]Removal {
		return map[schema.GroupVersionKind]Removal{kind: {IDs: ids, All: all}}
	}
	first := serial(of(false, "b", "a"))
	if again := serial(of(false, "a", "b")); again != first {
		t.Error("the same removal has another number")
	}
	if less := serial(of(false, "a")); less != first {
		t.Error("what was removed is removed again as another one has ended")
	}
	if more := serial(of(false, "a", "b")); more <= first {
		t.Error("b has come again, and counts as removed")
	}
	before := serial(of(false, "a"))
	if all := serial(of(true, "a")); all <= before {
		t.Error("nothing of the rest would be removed")
	}
	serial(nil)
	if later := serial(of(false, "a")); later <= before {
		t.Error("a has come again, and counts as removed")
	}
}
