package defaults_test

import (
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets/defaults"
)

var block = regexp.MustCompile("(?s)```yaml\n# (defaults|object|stored)\n(.*?)```")

// The examples of docs/defaults.md do what they say.
func TestExamplesOfTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/defaults.md")
	if err != nil {
		t.Fatal(err)
	}
	asking := handler.Admission{
		Operation: handler.Create, User: "alice@example.com", Extra: map[string][]string{"example.com/cost-center": {"42"}},
	}
	last := map[string]string{}
	examples := 0
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		last[found[1]] = found[2]
		if found[1] == "defaults" {
			if _, err := defaults.Compile(declare(t, found[2]), namespaces); err != nil {
				t.Error(err)
			}
		}
		if found[1] != "stored" {
			continue
		}
		examples++
		fn, err := defaults.Compile(declare(t, last["defaults"]), namespaces)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fn(parse(t, last["object"]), asking)
		if want := parse(t, last["stored"]); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %v, %v\nwant %v", last["defaults"], got.Object, err, want.Object)
		}
	}
	if examples != 5 {
		t.Errorf("%d examples, want 5", examples)
	}
}
