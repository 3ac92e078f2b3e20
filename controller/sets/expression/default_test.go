package expression_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/controller/sets/expression"
)

var alice = expression.Request{
	Operation: "CREATE", Username: "alice", UID: "u-1", Groups: []string{"devs", "system:authenticated"},
	Extra: map[string][]string{"example.com/cost-center": {"42"}},
}

func value(t testing.TB, text string) (any, error) {
	t.Helper()
	d, err := expression.CompileDefault(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	u := parse(t, certificate)
	before := u.DeepCopy()
	namespace := map[string]any{"metadata": map[string]any{"name": "shop", "labels": map[string]any{"tier": "gold"}}}
	got, err := d.Value(u.Object, alice, namespace)
	if again, _ := d.Value(u.Object, alice, namespace); err == nil && !reflect.DeepEqual(got, again) {
		t.Errorf("%s: %v, and a second time %v", text, got, again)
	}
	if !reflect.DeepEqual(u, before) {
		t.Errorf("%s changed the object", text)
	}
	return got, err
}

func TestValuesOfDefaults(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for text, want := range map[string]any{
		"object.metadata.name + '-tls'":          "web-tls",
		"object.metadata.uid":                    "u1",
		"has(object.metadata.resourceVersion)":   false,
		"object.metadata.annotations":            object{"example.com/size": "1"},
		"object.status.revision":                 int64(2),
		"1 + 2":                                  int64(3),
		"3u":                                     int64(3),
		"object.spec.renewals":                   int64(3),
		"object.spec.renewals * 2":               int64(6),
		"object.spec.ratio":                      0.5,
		"2.0":                                    2.0,
		"true":                                   true,
		"null":                                   nil,
		"object.spec.none":                       nil,
		"object.?spec.?other":                    nil,
		"object.?spec.?renewals":                 int64(3),
		"optional.of('x')":                       "x",
		"duration('90m')":                        "1h30m0s",
		"timestamp('2026-01-02T03:04:05+01:00')": "2026-01-02T02:04:05Z",
		"b'abc'":                                 "YWJj",
		"quantity('1024Mi')":                     "1Gi",
		"ip('10.0.0.1')":                         "10.0.0.1",
		"cidr('10.0.0.0/8')":                     "10.0.0.0/8",
		"url('https://a.example.com/x')":         "https://a.example.com/x",
		"semver('1.2.3')":                        "1.2.3",
		"[1, 'a', [true]]":                       []any{int64(1), "a", []any{true}},
		"[]":                                     []any{},
		"{'kind': 'Issuer', 'size': 1, 'list': object.spec.dnsNames}": object{"kind": "Issuer", "size": int64(1), "list": []any{"a.example.com", "b.example.com"}},
		"{}": object{},
		"object.spec.dnsNames.map(n, n.split('.')[0])":         []any{"a", "b"},
		"request.userInfo.username":                            "alice",
		"request.userInfo.uid":                                 "u-1",
		"'devs' in request.userInfo.groups ? 'dev' : 'ops'":    "dev",
		"request.userInfo.groups":                              []any{"devs", "system:authenticated"},
		"request.userInfo.extra['example.com/cost-center'][0]": "42",
		"request.userInfo.extra":                               object{"example.com/cost-center": []any{"42"}},
		"request.operation":                                    "CREATE",
		"request":                                              object{"operation": "CREATE", "userInfo": object{"username": "alice", "uid": "u-1", "groups": []any{"devs", "system:authenticated"}, "extra": object{"example.com/cost-center": []any{"42"}}}},
		"namespaceObject.metadata.labels.tier":                 "gold",
		"namespaceObject != null && 'tier' in namespaceObject.metadata.labels": true,
		"object.spec.dnsNames.transformMapEntry(i, n, {n: i})":                 object{"a.example.com": int64(0), "b.example.com": int64(1)},
	} {
		if got, err := value(t, text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v; want %#v", text, got, err, want)
		}
	}
}

func TestValuesThatAreNoJSONAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0.0 / 0.0":                  "NaN or infinity",
		"1.0 / 0.0":                  "NaN or infinity",
		"[1.0, -1.0 / 0.0]":          "NaN or infinity",
		"18446744073709551615u":      "a number above 2^63-1",
		"{1: 'a'}":                   "a map with a key of type int",
		"[type(1)]":                  "a value of type type",
		"{'a': format.named('uri')}": "a value of type kubernetes.NamedFormat",
		"lists.range(1000).map(x, '" + strings.Repeat("x", 100) + "')": "larger than 64 KiB",
		"lists.range(1000).map(x, object.spec)":                        "larger than 64 KiB",
	} {
		got, err := value(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "line 1, column ") {
			t.Errorf("%.80s: got %.80v, %v; want %s", text, got, err, want)
		}
	}
}

// What is used twice, and the result twice, and so on, costs nothing to
// make, and without a bound all memory to write.
func TestAValueThatGrowsByReuseIsRefused(t *testing.T) {
	t.Parallel()
	text := "[1]"
	for range 20 {
		text = "[" + text + "].map(x, [x, x])[0]"
	}
	if got, err := value(t, text); err == nil || !strings.Contains(err.Error(), "larger than 64 KiB") {
		t.Errorf("got %.80v, %v", got, err)
	}
}

func TestDefaultsTellWhatTheyUse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]any{
		"'a'":                         {false, true, "string"},
		"[1, 2].map(object, object)":  {false, false, "list(int)"},
		"object.spec":                 {false, false, "dyn"},
		"namespaceObject == null":     {true, false, "bool"},
		"[1].map(x, namespaceObject)": {true, false, "list(dyn)"},
		"request.userInfo.groups":     {false, false, "list(string)"},
		"{'a': 1}":                    {false, true, "map(string, int)"},
	} {
		d, err := expression.CompileDefault(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]any{d.UsesNamespace(), d.IsConstant(), d.Type().String()}; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestDefaultsWithoutANamespaceOrAUser(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"namespaceObject == null":                         true,
		"namespaceObject":                                 nil,
		"size(request.userInfo.groups)":                   int64(0),
		"size(request.userInfo.extra)":                    int64(0),
		"has(object.metadata)":                            false,
		"object.?metadata.?name.orValue('none')":          "none",
		"namespaceObject.?metadata.?labels.?a.hasValue()": false,
	} {
		d, err := expression.CompileDefault(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.Value(map[string]any{}, expression.Request{}, nil); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestAValueSharesNothingWithTheObject(t *testing.T) {
	t.Parallel()
	d, err := expression.CompileDefault("object.spec")
	if err != nil {
		t.Fatal(err)
	}
	u := parse(t, certificate)
	got, err := d.Value(u.Object, alice, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := got.(map[string]any)
	spec["dnsNames"].([]any)[0] = "changed"
	spec["new"] = true
	if !reflect.DeepEqual(u, parse(t, certificate)) {
		t.Errorf("the object was changed: %v", u)
	}
}

func BenchmarkValue(b *testing.B) {
	d, err := expression.CompileDefault("object.metadata.name + '-tls'")
	if err != nil {
		b.Fatal(err)
	}
	u := parse(b, certificate)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = d.Value(u.Object, alice, nil)
	}
}
