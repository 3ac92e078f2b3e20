package defaults_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets/defaults"
	"github.com/dogear-dev/dogear/storage"
)

type object = map[string]any

// declare reads defaults as they stand in a set.
func declare(t testing.TB, text string) *v1alpha1.Defaults {
	t.Helper()
	d := &v1alpha1.Defaults{}
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return d
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	value, err := storage.DecodeValue(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: value.(object)}
}

var admission = handler.Admission{
	Operation: handler.Create, User: "alice", UserUID: "u1", Groups: []string{"devs"}, Extra: map[string][]string{"example.com/cost-center": {"42"}},
}

func namespaces(name string) (map[string]any, error) {
	switch name {
	case "broken":
		return nil, errors.New("the cache is closed")
	case "unknown":
		return nil, nil
	}
	return object{"metadata": object{"name": name, "labels": object{"tier": "gold"}}}, nil
}

// filled fills in what is declared, and checks that the input stays as it was
// and that doing it once more changes nothing.
func filled(t testing.TB, declared, given string) (*unstructured.Unstructured, error) {
	t.Helper()
	fn, err := defaults.Compile(declare(t, declared), namespaces)
	if err != nil {
		t.Fatal(err)
	}
	u := parse(t, given)
	before := u.DeepCopy()
	got, err := fn(u, admission)
	if !reflect.DeepEqual(u, before) {
		t.Errorf("the given object was changed: %v", u)
	}
	again, _ := fn(got, admission)
	if !reflect.DeepEqual(again, got) {
		t.Errorf("once more:\ngot  %v\nwant %v", again, got)
	}
	return got, err
}

func TestFill(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ declared, given, want string }{
		"values where nothing is": {
			`values: {spec: {privateKey: {rotationPolicy: Always}, usages: [server auth], size: 2}}`,
			`{metadata: {name: web}}`,
			`{metadata: {name: web}, spec: {privateKey: {rotationPolicy: Always}, usages: [server auth], size: 2}}`,
		},
		"what is there stays, also empty, zero, false and null": {
			`values: {spec: {a: x, b: 1, c: true, d: [x], e: {f: 1}, g: x, h: {i: 1}}}`,
			`spec: {a: "", b: 0, c: false, d: [], e: {}, g: null, h: null}`,
			`spec: {a: "", b: 0, c: false, d: [], e: {f: 1}, g: null, h: null}`,
		},
		"a value on the way that holds no fields stays": {
			"values: {spec: {a: {b: 1}, c: {d: 1}}}\ncomputed: [{path: spec.a.x, expression: '1'}, {path: spec.c.x, expression: '1'}]",
			`spec: {a: text, c: [1]}`,
			`spec: {a: text, c: [1]}`,
		},
		"computed behind values, each seeing those before": {
			"values: {spec: {a: 1}}\ncomputed: [{path: spec.b, expression: object.spec.a + 1}, {path: spec.c, expression: object.spec.b + 1}]",
			`spec: {}`,
			`spec: {a: 1, b: 2, c: 3}`,
		},
		"a computed map is taken whole": {
			"computed: [{path: spec.a, expression: \"{'b': 1, 'c': null}\"}, {path: spec.d, expression: \"{'b': 1}\"}]",
			`spec: {d: {x: 2}}`,
			`spec: {a: {b: 1}, d: {x: 2}}`,
		},
		"null and an optional without value leave the field": {
			"computed: [{path: spec.a, expression: 'null'}, {path: spec.b, expression: 'object.?spec.?x'}]",
			`spec: {}`,
			`spec: {}`,
		},
		"one that needs a later one gets its turn": {
			"computed: [{path: spec.a, expression: object.spec.b + 1}, {path: spec.b, expression: '1'}]",
			`spec: {}`,
			`spec: {a: 2, b: 1}`,
		},
		"labels and annotations": {
			"values: {metadata: {labels: {a: x, b: y}, annotations: {example.com/a: x}}}\ncomputed: [{path: \"metadata.labels['example.com/tier']\", expression: namespaceObject.metadata.labels.tier}, {path: metadata.labels.by, expression: request.userInfo.username}]",
			`metadata: {namespace: shop, labels: {a: mine}}`,
			`metadata: {namespace: shop, labels: {a: mine, b: y, by: alice, example.com/tier: gold}, annotations: {example.com/a: x}}`,
		},
		"nothing else of metadata, no status, no state of Dogear": {
			`values: {apiVersion: v9, kind: X, status: {a: 1}, metadata: {name: x, finalizers: [a/b], annotations: {dogear.dev/paused: "true"}}}`,
			`{apiVersion: v1, kind: Y, metadata: {generateName: web-}}`,
			`{apiVersion: v1, kind: Y, metadata: {generateName: web-}}`,
		},
		"without a namespace": {
			"computed: [{path: spec.a, expression: namespaceObject == null}]",
			`metadata: {name: x}`,
			`{metadata: {name: x}, spec: {a: true}}`,
		},
		"where the namespace is not known": {
			"computed: [{path: spec.a, expression: namespaceObject == null}]",
			`metadata: {namespace: unknown}`,
			`{metadata: {namespace: unknown}, spec: {a: true}}`,
		},
		"of the request": {
			"computed: [{path: spec.a, expression: \"request.operation + request.userInfo.groups[0] + request.userInfo.extra['example.com/cost-center'][0] + request.userInfo.uid\"}]",
			`spec: {}`,
			`spec: {a: CREATEdevs42u1}`,
		},
		"a name with dots": {
			"computed: [{path: \"data['tls.crt']\", expression: \"'x'\"}]",
			`{}`,
			`data: {tls.crt: x}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := filled(t, test.declared, test.given)
			if want := parse(t, test.want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v, %v\nwant %v", got.Object, err, want.Object)
			}
		})
	}
}

func TestWhatFailsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ declared, given, want, err string }{
		"an expression": {
			"values: {spec: {v: 1}}\ncomputed: [{path: spec.a, expression: object.spec.missing}, {path: spec.b, expression: '1'}]",
			`spec: {}`, `spec: {v: 1, b: 1}`,
			"computed default spec.a: line 1, column 12: no such key: missing",
		},
		"two": {
			"computed: [{path: spec.a, expression: object.x}, {path: spec.b, expression: object.y}]",
			`spec: {}`, `spec: {}`,
			"computed default spec.a: line 1, column 7: no such key: x\ncomputed default spec.b: line 1, column 7: no such key: y",
		},
		"none, where the field is there": {
			"computed: [{path: spec.a, expression: object.spec.missing}]",
			`spec: {a: 1}`, `spec: {a: 1}`, "",
		},
		"a label that the API server would refuse": {
			"computed: [{path: metadata.labels.a, expression: \"'no label!'\"}, {path: metadata.labels.b, expression: '1'}, {path: metadata.annotations.c, expression: '[1]'}, {path: metadata.annotations.d, expression: \"'no label!'\"}]",
			`{}`, `metadata: {annotations: {d: no label!}}`,
			"computed default metadata.labels.a: the value is no label value: it may have at most 63 letters, digits and -_. with a letter or digit at both ends\n" +
				"computed default metadata.labels.b: the value is no text: convert it with string()\n" +
				"computed default metadata.annotations.c: the value is no text: convert it with string()",
		},
		"the look at the namespace": {
			"computed: [{path: spec.a, expression: namespaceObject.metadata.name}, {path: spec.b, expression: object.metadata.namespace}]",
			`metadata: {namespace: broken}`, `{metadata: {namespace: broken}, spec: {b: broken}}`,
			"computed default spec.a: read the namespace: the cache is closed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := filled(t, test.declared, test.given)
			if want := parse(t, test.want); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got.Object, want.Object)
			}
			if text := errorText(err); text != test.err {
				t.Errorf("got  %s\nwant %s", text, test.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Annotations above the limit would have the user's request refused.
func TestAnnotationsThatDoNotFitAreLeftOut(t *testing.T) {
	t.Parallel()
	const declared = "values: {spec: {a: 1}, metadata: {annotations: {example.com/a: some text}}}"
	full := strings.Repeat("x", storage.ServerLimit-4)
	got, err := filled(t, declared, `{metadata: {annotations: {mine: `+full+`}}}`)
	if !errors.Is(err, defaults.ErrNoRoom) {
		t.Errorf("error %v", err)
	}
	if len(got.GetAnnotations()) != 1 || got.Object["spec"] == nil {
		t.Errorf("%d annotations, spec %v", len(got.GetAnnotations()), got.Object["spec"])
	}
}

func TestTheNamespaceIsReadOnceAndOnlyIfItIsNeeded(t *testing.T) {
	t.Parallel()
	calls := 0
	count := func(string) (map[string]any, error) { calls++; return nil, nil }
	for declared, want := range map[string]int{
		"computed: [{path: spec.a, expression: '1'}]": 0,
		"computed: [{path: spec.a, expression: namespaceObject == null}, {path: spec.b, expression: namespaceObject == null}]": 1,
		"computed: [{path: spec.there, expression: namespaceObject == null}]":                                                  0,
	} {
		calls = 0
		fn, err := defaults.Compile(declare(t, declared), count)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fn(parse(t, `{metadata: {namespace: a}, spec: {there: 1}}`), admission); err != nil || calls != want {
			t.Errorf("%s: %d calls, %v", declared, calls, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{
		"computed: [{path: spec.a, expression: obj}]":                                      "computed default spec.a: line 1, column 1: undeclared reference to 'obj'",
		"computed: [{path: status.a, expression: '1'}]":                                    "computed default status.a: status cannot be filled in",
		"computed: [{path: kind, expression: '1'}]":                                        "kind cannot be filled in",
		"computed: [{path: metadata.name, expression: '1'}]":                               "of metadata only a label or an annotation",
		"computed: [{path: metadata.labels, expression: '{}'}]":                            "of metadata only a label or an annotation",
		"computed: [{path: 'spec.list[name=a]', expression: '1'}]":                         "items of lists cannot be filled in",
		"computed: [{path: spec..a, expression: '1'}]":                                     "an empty name",
		`computed: [{path: "metadata.annotations['dogear.dev/paused']", expression: '1'}]`: "it is an annotation of Dogear",
		"values: [1]": "values: ",
	} {
		if _, err := defaults.Compile(declare(t, declared), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", declared, err, want)
		}
	}
	if _, err := defaults.Compile(&v1alpha1.Defaults{Values: &runtime.RawExtension{}}, nil); err != nil {
		t.Errorf("defaults without anything: %v", err)
	}
}

func BenchmarkFill(b *testing.B) {
	fn, err := defaults.Compile(declare(b, "values: {spec: {privateKey: {rotationPolicy: Always}}}\ncomputed: [{path: spec.secretName, expression: \"object.metadata.name + '-tls'\"}]"), nil)
	if err != nil {
		b.Fatal(err)
	}
	u := parse(b, `{metadata: {name: web, namespace: a}, spec: {dnsNames: [a.example.com], issuerRef: {name: ca}}}`)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = fn(u, admission)
	}
}
