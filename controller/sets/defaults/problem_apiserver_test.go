package defaults_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets/defaults"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) { rigtest.Main(m, rigtest.WithCertManagerCRDs()) }

// judged is a kind with one of everything.
const judged = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: judgeds.defaults.dogear.dev}
spec:
  group: defaults.dogear.dev
  names: {kind: Judged, listKind: JudgedList, plural: judgeds, singular: judged}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              text: {type: string, minLength: 2, maxLength: 5, pattern: "^[a-z]+$"}
              size: {type: integer, format: int32, minimum: 1, maximum: 100}
              step: {type: integer, multipleOf: 5}
              ratio: {type: number, exclusiveMaximum: true, maximum: 1}
              flag: {type: boolean}
              mode: {type: string, enum: [Fast, Slow]}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              bare: {x-kubernetes-int-or-string: true}
              when: {type: string, format: date-time}
              wait: {type: string, format: duration}
              mail: {type: string, format: email}
              odd: {type: string, format: no-such-format}
              nullable: {type: string, nullable: true}
              labels: {type: object, maxProperties: 2, additionalProperties: {type: string, maxLength: 3}}
              counts: {type: object, additionalProperties: {type: integer}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object, properties: {a: {type: string}}}}}
              empty: {type: object}
              embedded: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}}
              names: {type: array, maxItems: 3, minItems: 1, items: {type: string, minLength: 1}}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, value: {type: string}}}}
              ref: {type: object, required: [name], minProperties: 2, properties: {name: {type: string}, kind: {type: string}}}
              choice: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
`

var (
	judgedKind  = schema.GroupVersionKind{Group: "defaults.dogear.dev", Version: "v1", Kind: "Judged"}
	serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	installed   sync.Once
)

// schemaOf returns the published schema of a kind.
func schemaOf(t *testing.T, kind schema.GroupVersionKind) *defaults.Schema {
	t.Helper()
	cp := rigtest.ControlPlane(t)
	installed.Do(func() {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict([]byte(judged), crd); err != nil {
			t.Fatal(err)
		}
		if err := cp.InstallCRDs(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
	})
	d, err := discovery.NewDiscoveryClientForConfig(cp.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := defaults.NewSchemas(openapi.NewClientWithContext(d.RESTClient()), clock.RealClock{})
	var found *defaults.Schema
	rigtest.Eventually(t, time.Minute, func() (err error) {
		if found, err = s.Of(t.Context(), kind); err == nil && found == nil {
			err = errors.New("no schema is published")
		}
		return err
	})
	return found
}

// serverSays creates an object with the defaults, without storing it, and
// tells whether the API server refuses it, or drops something.
func serverSays(t *testing.T, c client.Client, given *unstructured.Unstructured, declared string) string {
	t.Helper()
	fn, err := defaults.Compile(declare(t, declared), nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := fn(given, handler.Admission{Operation: handler.Create})
	if err != nil {
		return "refused" // the label that was not set
	}
	sent := u.DeepCopy()
	if err := c.Create(t.Context(), u, client.DryRunAll); err != nil {
		return "refused"
	}
	if !kept(sent.Object["spec"], u.Object["spec"]) {
		return "dropped"
	}
	return ""
}

func verdicts(problems []defaults.Problem) (verdict string, texts []string) {
	for _, p := range problems {
		texts = append(texts, p.String())
		switch {
		case !p.Dropped:
			verdict = "refused"
		case verdict == "":
			verdict = "dropped"
		}
	}
	return verdict, texts
}

// agree checks what is said of the defaults, and that the API server agrees.
func agree(t *testing.T, kind schema.GroupVersionKind, base string, tests map[string][]string) {
	s := schemaOf(t, kind)
	c, namespace := rigtest.Client(t), rigtest.Namespace(t)
	for declared, want := range tests {
		verdict, texts := verdicts(defaults.Problems(declare(t, declared), s))
		if !reflect.DeepEqual(texts, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", declared, strings.Join(texts, "\n     "), strings.Join(want, "\n     "))
		}
		u := parse(t, base)
		u.SetGroupVersionKind(kind)
		u.SetNamespace(namespace)
		u.SetName("x")
		if said := serverSays(t, c, u, declared); said != verdict {
			t.Errorf("%s: judged %q, but the API server says %q", declared, verdict, said)
		}
	}
}

func refused(field, text string) []string {
	return []string{"values: spec." + field + ": the API server would refuse it: " + text}
}

const unknown = ": the schema has no such field: the API server would drop it"

func TestProblemsAreThoseOfTheAPIServer(t *testing.T) {
	t.Parallel()
	value := func(text string) string { return "values: {spec: {" + text + "}}" }
	expression := func(path, text string) string {
		return fmt.Sprintf("computed: [{path: %s, expression: %q}]", path, text)
	}
	yields := func(path, have, want string) []string {
		return []string{"computed[0]: " + path + ": the API server would refuse it: the expression yields type " + have + ", the schema wants " + want}
	}
	agree(t, judgedKind, `spec: {}`, map[string][]string{
		value(`text: abc, size: 1, step: 10, ratio: 0.5, flag: false, mode: Fast, when: "2026-01-01T00:00:00Z", wait: 1h30m, mail: a@example.com, odd: x`): nil,
		value(`unknown: 1, size: 2, other: {a: 1}`): {"values: spec.other" + unknown, "values: spec.unknown" + unknown},
		value(`text: 1`):                     refused("text", "must be of type string, not integer"),
		value(`text: a`):                     refused("text", "should be at least 2 chars long"),
		value(`text: abcdef`):                refused("text", "should be at most 5 chars long"),
		value(`text: ABC`):                   refused("text", "should match '^[a-z]+$'"),
		value(`size: "1"`):                   refused("size", "must be of type integer, not string"),
		value(`size: 1.5`):                   refused("size", "must be of type integer, not number"),
		value(`size: 0`):                     refused("size", "should be greater than or equal to 1"),
		value(`size: 3000000000`):            {refused("size", "must be of type integer with format int32")[0], refused("size", "should be less than or equal to 100")[0]},
		value(`step: 7`):                     refused("step", "should be a multiple of 5"),
		value(`ratio: 1.0`):                  refused("ratio", "should be less than 1"),
		value(`flag: "true"`):                refused("flag", "must be of type boolean, not string"),
		value(`mode: fast`):                  refused("mode", "should be one of [Fast Slow]"),
		value(`port: 80`):                    nil,
		value(`port: http`):                  nil,
		value(`port: 1.5`):                   refused("port", "must be of type integer or string, not number"),
		value(`bare: true`):                  refused("bare", "must be of type integer or string, not boolean"),
		value(`when: yesterday`):             refused("when", `must be of type date-time: "yesterday"`),
		value(`wait: long`):                  refused("wait", `must be of type duration: "long"`),
		value(`mail: nobody`):                refused("mail", `must be of type email: "nobody"`),
		value(`text: null, nullable: null`):  nil,
		value(`labels: {a: x, b: z}`):        nil,
		value(`labels: {a: x, b: z, c: z}`):  refused("labels", "should have at most 2 properties"),
		value(`labels: {a.b/c: long, d: 1}`): {refused("labels['a.b/c']", "should be at most 3 chars long")[0], refused("labels.d", "must be of type string, not integer")[0]},
		value(`labels: [a]`):                 refused("labels", "must be of type object, not array"),
		value(`free: {x: {z: 1}}`):           nil,
		value(`free: {known: {a: x, b: 1}}`): {"values: spec.free.known.b" + unknown},
		value(`free: {known: {a: 1}}`):       refused("free.known.a", "must be of type string, not integer"),
		value(`empty: {a: 1}`):               {"values: spec.empty.a" + unknown},
		value(`embedded: {apiVersion: v1, kind: X, metadata: {name: x}, spec: {a: x}, other: 1}`): {"values: spec.embedded.other" + unknown},
		value(`names: [a, b]`):                 nil,
		value(`names: []`):                     refused("names", "should have at least 1 items"),
		value(`names: [a, b, c, d]`):           refused("names", "should have at most 3 items"),
		value(`names: [a, ""]`):                refused("names[1]", "should be at least 1 chars long"),
		value(`names: [null]`):                 refused("names[0]", "must be of type string, not null"),
		value(`set: [a, a]`):                   {"values: spec.set: two items have the same value"},
		value(`items: [{name: a, value: x}]`):  nil,
		value(`items: [{value: x}]`):           refused("items[0]", "name is required"),
		value(`items: [{name: a}, {name: a}]`): {"values: spec.items: two items have the same name"},
		value(`items: [{name: a, other: 1}]`):  {"values: spec.items[0].other" + unknown},

		expression("spec.text", "object.metadata.name + 'a'"):                                        nil,
		expression("spec.mode", "'fast'"):                                                            {"computed[0]: spec.mode: the API server would refuse it: should be one of [Fast Slow]"},
		expression("spec.mode", "'Fast'"):                                                            nil,
		expression("spec.size", "string(object.spec.size())"):                                        yields("spec.size", "string", "integer"),
		expression("spec.size", "size(object.metadata.name)"):                                        nil,
		expression("spec.text", "size(object.metadata.name)"):                                        yields("spec.text", "integer", "string"),
		expression("spec.flag", "object.metadata.name == 'x' ? optional.of('a') : optional.of('b')"): yields("spec.flag", "string", "boolean"),
		expression("spec.port", "size(object.metadata.name)"):                                        nil,
		expression("spec.port", "[object.metadata.name]"):                                            yields("spec.port", "array", "integer or string"),
		expression("spec.names", "[size(object.metadata.name)]"):                                     yields("spec.names[]", "integer", "string"),
		expression("spec.counts", "{'a': string(object.metadata.name)}"):                             yields("spec.counts[]", "string", "integer"),
		expression("spec.labels", "{'a': object.metadata.name}"):                                     nil,
		expression("spec.unknown", "object.metadata.name"):                                           {"computed[0]: spec.unknown" + unknown},
		expression("spec.empty.a", "object.metadata.name"):                                           {"computed[0]: spec.empty.a" + unknown},
		expression("spec.free.a.b", "object.metadata.name"):                                          nil,
		expression("spec.text.a", "object.metadata.name"):                                            {"computed[0]: spec.text: the API server would refuse a field in it: the schema wants type string"},
		expression("spec.wait", "duration('1h')"):                                                    nil,
		expression("spec.wait", "object.metadata.name == '' ? duration('1h') : duration('2h')"):      nil,
		expression("spec.when", "timestamp('2026-01-01T00:00:00Z')"):                                 nil,
		expression("spec.names", "object.metadata.name.split('')"):                                   nil,
		expression("metadata.labels.a", "'no label!'"):                                               {"computed[0]: metadata.labels.a: the value is no label value: it may have at most 63 letters, digits and -_. with a letter or digit at both ends"},
		expression("metadata.labels.a", "size(object.metadata.name)"):                                yields("metadata.labels.a", "integer", "string"),
	})
}

// What a user's object and the defaults make up together is not known before:
// parts of a map are not blamed for what is missing.
func TestPartsOfAMapAreNotBlamedForTheRest(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, judgedKind)
	for _, declared := range []string{
		"values: {spec: {ref: {kind: Issuer}}}",
		"values: {spec: {choice: {}}}",
		"computed: [{path: spec.ref.kind, expression: \"'Issuer'\"}]",
		"computed: [{path: spec.free, expression: object.spec.x}]",
	} {
		if problems := defaults.Problems(declare(t, declared), s); len(problems) > 0 {
			t.Errorf("%s: %v", declared, problems)
		}
	}
	whole := "computed: [{path: spec.ref, expression: \"{'kind': 'Issuer'}\"}]"
	if _, texts := verdicts(defaults.Problems(declare(t, whole), s)); len(texts) != 2 {
		t.Errorf("%s: %q", whole, texts)
	}
}

func TestProblemsOfAService(t *testing.T) {
	t.Parallel()
	agree(t, serviceKind, `spec: {clusterIP: None, type: ClusterIP}`, map[string][]string{
		"values: {spec: {selector: {app: web}, publishNotReadyAddresses: true}}":                                     nil,
		"values: {spec: {unknown: 1}}":                                                                               {"values: spec.unknown" + unknown},
		"values: {spec: {selector: {app: 1}}}":                                                                       refused("selector.app", "must be of type string, not integer"),
		"values: {spec: {internalTrafficPolicy: Some}}":                                                              refused("internalTrafficPolicy", "should be one of [Cluster Local]"),
		"values: {spec: {healthCheckNodePort: many}}":                                                                refused("healthCheckNodePort", "must be of type integer, not string"),
		"values: {spec: {sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60, x: 1}}}}": {"values: spec.sessionAffinityConfig.clientIP.x" + unknown},
		"computed: [{path: spec.sessionAffinity, expression: size(object.spec)}]":                                    {"computed[0]: spec.sessionAffinity: the API server would refuse it: the expression yields type integer, the schema wants string"},
		"computed: [{path: metadata.annotations.a, expression: object.metadata.name}]":                               nil,
	})
	s := schemaOf(t, serviceKind)
	for declared, want := range map[string]int{
		"values: {spec: {ports: [{port: 80, targetPort: http}, {port: 81, targetPort: 81}]}}": 0,
		"values: {spec: {ports: [{port: 80, targetPort: true}]}}":                             1,
		"values: {spec: {ports: [{targetPort: 80}]}}":                                         1,
		"values: {spec: {ports: [{port: 80}, {port: 80}]}}":                                   1,
	} {
		if problems := defaults.Problems(declare(t, declared), s); len(problems) != want {
			t.Errorf("%s: %v", declared, problems)
		}
	}
}

func TestWithoutASchemaThereIsNothingToSay(t *testing.T) {
	t.Parallel()
	if problems := defaults.Problems(declare(t, "values: {spec: {unknown: 1}}"), nil); len(problems) > 0 {
		t.Error(problems)
	}
	if s, err := defaults.ParseSchema([]byte(`{"components":{"schemas":{}}}`), judgedKind); s != nil || err != nil {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := defaults.ParseSchema([]byte(`<html>`), judgedKind); err == nil {
		t.Error("a page is taken for a document")
	}
	s := defaults.NewSchemas(noDocuments{}, clock.RealClock{})
	if found, err := s.Of(t.Context(), judgedKind); found != nil || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
}

type noDocuments struct{}

func (noDocuments) PathsWithContext(context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	return map[string]openapi.GroupVersionWithContext{}, nil
}
