package expression_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets/expression"
	"github.com/dogear-dev/dogear/storage"
)

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	value, err := storage.DecodeValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: value.(map[string]any)}
}

const certificate = `{"apiVersion":"cert-manager.io/v1","kind":"Certificate",
 "metadata":{"name":"web","namespace":"shop","uid":"u1","resourceVersion":"7","generation":3,"labels":{"team":"a"},
  "annotations":{"example.com/size":"1","dogear.dev/state":"Failed","dogear.other.com/handled":"{}"}},
 "spec":{"secretName":"web-tls","dnsNames":["a.example.com","b.example.com"],"isCA":false,"duration":"48h","renewals":3,"ratio":0.5,"none":null},
 "status":{"revision":2}}`

func holds(t testing.TB, text, object string) (bool, error) {
	t.Helper()
	c, err := expression.CompileCondition(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	u := parse(t, object)
	before := u.DeepCopy()
	held, err := c.Holds(u)
	if !reflect.DeepEqual(u, before) {
		t.Errorf("%s changed the object", text)
	}
	return held, err
}

func TestConditionsThatHold(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"true",
		"object.spec.dnsNames.size() > 0",
		"object.spec.dnsNames.all(n, n.endsWith('.example.com'))",
		"!object.spec.isCA",
		"object.spec.renewals == 3 && object.spec.renewals < 3.5 && object.spec.ratio == 0.5",
		"object.spec.none == null",
		"has(object.spec.none) && !has(object.spec.other)",
		"object.kind == 'Certificate' && object.apiVersion.startsWith('cert-manager.io/')",
		"object.metadata.name == 'web' && object.metadata.namespace == 'shop' && object.metadata.labels.team == 'a'",
		"object.metadata.annotations == {'example.com/size': '1'}",
		"size(object.metadata) == 4 && !('status' in object)",
		"object.?spec.?missing.orValue('x') == 'x'",
		"duration(object.spec.duration) > duration('24h')",
		"quantity('1Gi').isGreaterThan(quantity('1Mi'))",
		"url('https://a.example.com/x').getHostname() == object.spec.dnsNames[0]",
		"cidr('10.0.0.0/8').containsIP('10.1.2.3')",
		"object.spec.secretName.find('[a-z]+') == 'web'",
		"sets.contains(object.spec.dnsNames, ['a.example.com'])",
		"object.spec.dnsNames.exists_one(n, n == 'a.example.com')",
	} {
		if held, err := holds(t, text, certificate); err != nil || !held {
			t.Errorf("%s: %v, %v", text, held, err)
		}
	}
}

func TestConditionsSeeNoTraceOfDogear(t *testing.T) {
	t.Parallel()
	const text = "!has(object.metadata.annotations)"
	for _, annotations := range []string{``, `,"annotations":{"dogear.dev/state":"Pending","dogear.x/progress":"{}"}`} {
		if held, err := holds(t, text, `{"metadata":{"name":"a"`+annotations+`}}`); err != nil || !held {
			t.Errorf("%q: %v, %v", annotations, held, err)
		}
	}
	if held, err := holds(t, "object.metadata == {}", `{}`); err != nil || !held {
		t.Errorf("an object without metadata: %v, %v", held, err)
	}
}

func TestConditionsFailWithPlaceAndReasonAndWithoutData(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"object.spec.missing == 1":                                                       "line 1, column 12: no such key: missing",
		"true &&\n object.metadata.labels.x == ''":                                       "line 2, column 24: no such key: x",
		"object.spec.secretName":                                                         "line 1, column 12: it yields a value of type string: want a bool",
		"object.spec.secretName + 1 == 2":                                                "line 1, column 24: no such overload",
		"int(object.spec.secretName) == 1":                                               "line 1, column 4: a value is not what a function of it takes",
		"{'a': 1}[object.spec.secretName] == 1":                                          "line 1, column 9: no such key",
		"object.spec.dnsNames[7] == ''":                                                  "line 1, column 21: index out of bounds",
		"1 / (object.spec.renewals - 3) == 1":                                            "line 1, column 3: division by zero",
		"quantity(object.spec.secretName).asInteger() == 1":                              "line 1, column 9: a value is not what a function of it takes",
		"lists.range(1000).all(x, lists.range(1000).all(y, x + y < 5000))":               "it takes too long on this object: use shorter loops",
		"object.spec.secretName.matches(object.spec.secretName + '(')":                   "line 1, column 31: a value is not what a function of it takes",
		"duration(object.spec.secretName) > duration('1h')":                              "line 1, column 9: a value is not what a function of it takes",
		"timestamp(object.spec.secretName) > timestamp('2026-01-01T00:00:00Z')":          "line 1, column 10: a value is not what a function of it takes",
		"object.spec.dnsNames.map(n, object.spec.dnsNames.map(m, int(n + m)))[0][0] > 1": "line 1, column 60: a value is not what a function of it takes",
	} {
		held, err := holds(t, text, certificate)
		if held || err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v, %v\nwant %s", text, held, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "web") || strings.Contains(err.Error(), "a.example")) {
			t.Errorf("%s: the error has data in it: %v", text, err)
		}
	}
}

func TestMistakesAreToldInOneLineWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind       v1alpha1.ExpressionKind
		text, want string
	}{
		{"condition", "obj.spec.x == 1", "line 1, column 1: undeclared reference to 'obj'"},
		{"condition", "object.spec.x ==", "line 1, column 17: Syntax error: mismatched input '<EOF>'"},
		{"condition", "true\n  && object.spec.dnsNames.sized() > 0 && nope", "line 2, column 32: undeclared reference to 'sized'"},
		{"condition", "'a'", "line 1, column 1: it yields a value of type string: want a bool"},
		{"condition", "1 == 'a'", "line 1, column 3: found no matching overload for '_==_' applied to '(int, string)'"},
		{"condition", "object.status.ready", "line 1, column 1: conditions cannot see object.status: what is selected must not change by itself"},
		{"condition", "has(object.status)", "line 1, column 5: conditions cannot see object.status: what is selected must not change by itself"},
		{"condition", "object['status'].x == 1", "line 1, column 1: conditions cannot see object.status: what is selected must not change by itself"},
		{"condition", "object.?status.x.hasValue()", "line 1, column 1: conditions cannot see object.status: what is selected must not change by itself"},
		{"condition", "object.metadata.generation > 1", "line 1, column 1: conditions cannot see object.metadata.generation: of metadata they see name, namespace, labels and annotations"},
		{"condition", "request.userInfo.username == 'x'", "line 1, column 1: undeclared reference to 'request'"},
		{"condition", "timestamp('yesterday') == timestamp('x')", "line 1, column 11: invalid timestamp argument"},
		{"condition", "'a'.matches('(')", "line 1, column 13: invalid matches argument"},
		{"condition", "authorizer.path('/').check('get').allowed()", "line 1, column 1: undeclared reference to 'authorizer'"},
		{"condition", "now() > timestamp('2026-01-01T00:00:00Z')", "line 1, column 4: undeclared reference to 'now'"},
		{"condition", strings.Repeat("!", 5000) + "true", "expression code point size exceeds limit: size: 5004, limit 4096"},
		{"default", "request.userInfo.name", "line 1, column 17: undefined field 'name'"},
		{"default", "request.user", "line 1, column 8: undefined field 'user'"},
		{"default", "type(object)", "line 1, column 5: it yields a type, which is no JSON value"},
		{"default", "", "line 1, column 1: Syntax error: mismatched input '<EOF>'"},
	} {
		err := expression.Check(test.kind, test.text)
		if err == nil || err.Error() != test.want {
			t.Errorf("%.80s:\ngot  %v\nwant %s", test.text, err, test.want)
		}
	}
	for kind, text := range map[v1alpha1.ExpressionKind]string{
		"condition": "object.spec.status == object.metadata.labels.generation",
		"default":   "request.userInfo.extra['a'][0] + request.operation + request.userInfo.groups[0] + request.userInfo.uid",
	} {
		if err := expression.Check(kind, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestManyExpressionsAreCompiledAtOnce(t *testing.T) {
	t.Parallel()
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 20 {
				if held, err := holds(t, "object.spec.renewals in [1, 2, 3]", certificate); err != nil || !held {
					t.Errorf("%v, %v", held, err)
				}
			}
		})
	}
}

func BenchmarkHolds(b *testing.B) {
	u := parse(b, certificate)
	for name, text := range map[string]string{
		"size":    "object.spec.dnsNames.size() > 0",
		"loop":    "object.spec.dnsNames.all(n, n.endsWith('.example.com'))",
		"failing": "object.spec.missing == 1",
		"limit":   "lists.range(1000).all(x, lists.range(1000).all(y, x + y < 5000))",
		"text":    "lists.range(1000).map(x, 'abcdefghijklmnopqrstuvwxyz'.split('').join('-')).size() == 1000",
		"regex":   "lists.range(1000).all(x, string(x).matches('^' + '[0-9]{1,4}$'))",
		"format":  "lists.range(1000).map(x, '%d-%s'.format([x, string(x)])).size() == 1000",
		"sort":    "lists.range(1000).sortBy(x, -x).size() == 1000",
	} {
		c, err := expression.CompileCondition(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.Holds(u)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		_ = expression.Check(v1alpha1.ExpressionCondition, "object.spec.dnsNames.all(n, n.endsWith('.example.com'))")
	}
}
