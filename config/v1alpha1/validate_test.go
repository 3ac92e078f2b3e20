package v1alpha1_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// compiles takes all expressions without the word bad.
func compiles(kind v1alpha1.ExpressionKind, expression string) error {
	if strings.Contains(expression, "bad") {
		return errors.New("undeclared reference in a " + string(kind))
	}
	return nil
}

const notACertificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

const aKey = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"

func bundle(text string) string {
	return `{http: {caBundle: ` + base64.StdEncoding.EncodeToString([]byte(text)) + `}}`
}

func TestValidateTellsWhatTheSchemaCannot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variant
		field, want string
	}{
		"an own kind": {variant{set: `{spec: {resource: {group: dogear.dev, resource: handlersets}}}`}, "spec.resource", "a set would handle itself"},
		"leases":      {variant{set: `{spec: {resource: {group: coordination.k8s.io, resource: leases}}}`}, "spec.resource", "leases change every few seconds"},
		"events":      {variant{set: `{spec: {resource: {group: "", resource: events}}}`}, "spec.resource", "no set may name events: Dogear writes events"},

		"a selector's operator": {variant{set: `{spec: {match: {labelSelector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}}}}`},
			"spec.match.labelSelector.matchExpressions[0].operator", "not a valid selector operator"},
		"a selector's value": {variant{set: `{spec: {match: {labelSelector: {matchLabels: {a: "b c"}}}}}`},
			"spec.match.labelSelector.matchLabels", "a valid label must be"},
		"In without values": {variant{set: `{spec: {match: {namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}}}`},
			"spec.match.namespaceSelector.matchExpressions[0].values", "must be specified when `operator` is 'In' or 'NotIn'"},
		"an annotation's key": {variant{set: `{spec: {match: {annotations: [{key: "a b"}]}}}`}, "spec.match.annotations[0].key", "name part must consist of"},
		"an annotation of Dogear": {variant{set: `{spec: {match: {annotations: [{key: dogear.dev/state}]}}}`},
			"spec.match.annotations[0].key", "are state of Dogear"},
		"a condition": {variant{set: `{spec: {match: {conditions: [{name: a, expression: "true"}, {name: b, expression: bad}]}}}`},
			"spec.match.conditions[1].expression", "the expression does not compile: undeclared reference in a condition"},

		"a computed default": {variant{set: `{spec: {defaults: {computed: [{path: spec.a, expression: bad}]}}}`},
			"spec.defaults.computed[0].expression", "the expression does not compile: undeclared reference in a default"},
		"a computed path": {variant{set: `{spec: {defaults: {computed: [{path: "spec..a", expression: "1"}]}}}`},
			"spec.defaults.computed[0].path", "an empty name"},
		"a computed item": {variant{set: `{spec: {defaults: {computed: [{path: "spec.a[b=c]", expression: "1"}]}}}`},
			"spec.defaults.computed[0].path", "items of lists cannot be filled in"},
		"computed status, quoted": {variant{set: `{spec: {defaults: {computed: [{path: "['status'].a", expression: "1"}]}}}`},
			"spec.defaults.computed[0].path", "status cannot be filled in"},
		"computed name, quoted": {variant{set: `{spec: {defaults: {computed: [{path: "['metadata'].name", expression: "1"}]}}}`},
			"spec.defaults.computed[0].path", "a label or an annotation can be filled in"},
		"a computed label of two": {variant{set: `{spec: {defaults: {computed: [{path: "metadata.labels.example.com", expression: "1"}]}}}`},
			"spec.defaults.computed[0].path", "a label or an annotation can be filled in, such as metadata.labels['example.com/team']"},
		"a computed annotation of Dogear": {variant{set: `{spec: {defaults: {computed: [{path: "metadata.annotations['dogear.dev/paused']", expression: "1"}]}}}`},
			"spec.defaults.computed[0].path", "are state of Dogear"},
		"default status": {variant{set: `{spec: {defaults: {values: {status: {a: 1}}}}}`}, "spec.defaults.values.status", "it cannot be filled in"},
		"default kind":   {variant{set: `{spec: {defaults: {values: {kind: A}}}}`}, "spec.defaults.values.kind", "it cannot be filled in"},
		"default name":   {variant{set: `{spec: {defaults: {values: {metadata: {name: a}}}}}`}, "spec.defaults.values.metadata.name", "only labels and annotations"},
		"no metadata":    {variant{set: `{spec: {defaults: {values: {metadata: a}}}}`}, "spec.defaults.values.metadata", "want an object"},
		"no labels":      {variant{set: `{spec: {defaults: {values: {metadata: {labels: [a]}}}}}`}, "spec.defaults.values.metadata.labels", "want an object of texts"},
		"a number as label": {variant{set: `{spec: {defaults: {values: {metadata: {labels: {a: 1}}}}}}`},
			"spec.defaults.values.metadata.labels[a]", "put it in quotes"},
		"a label's value": {variant{set: `{spec: {defaults: {values: {metadata: {labels: {a: "b c"}}}}}}`},
			"spec.defaults.values.metadata.labels[a]", "a valid label must be"},
		"a default annotation of Dogear": {variant{set: `{spec: {defaults: {values: {metadata: {annotations: {dogear.example.com/state: a}}}}}}`},
			"spec.defaults.values.metadata.annotations[dogear.example.com/state]", "are state of Dogear"},

		"a field's path":      {variant{handler: `{fields: [spec.a, "spec.b["]}`}, "spec.handlers[0].fields[1]", "spec.b["},
		"a projection's path": {variant{handler: `{http: {projection: ["a b"]}}`}, "spec.handlers[0].http.projection[0]", "is no plain name"},
		"a projected item":    {variant{handler: `{http: {projection: ["spec.a[b=c]"]}}`}, "spec.handlers[0].http.projection[0]", "items of lists cannot be picked"},
		"secrets of services": {variant{handler: `{http: {includeSecretData: true}}`}, "spec.handlers[0].http.includeSecretData", "whose resource is secrets"},
		"earlier secrets": {variant{set: `{spec: {resource: {group: "", resource: secrets}}}`, handler: `{diff: true}`},
			"spec.handlers[0].diff", "earlier values of Secrets are never kept"},
		"a url's port":        {variant{handler: `{http: {service: null, url: "https://a.example.com:99999"}}`}, "spec.handlers[0].http.url", "not in 1 to 65535"},
		"a url's escape":      {variant{handler: `{http: {service: null, url: "https://a.example.com/%zz"}}`}, "spec.handlers[0].http.url", "it is no URL"},
		"a url's host":        {variant{handler: `{http: {service: null, url: "https://:1/a"}}`}, "spec.handlers[0].http.url", "it has no host"},
		"a bundle of nothing": {variant{handler: bundle("a")}, "spec.handlers[0].http.caBundle", "there is no certificate in it"},
		"a bundle with a key": {variant{handler: bundle(aKey)}, "spec.handlers[0].http.caBundle", `there is a "PRIVATE KEY" block`},
		"a broken bundle":     {variant{handler: bundle(notACertificate)}, "spec.handlers[0].http.caBundle", "certificate 1: "},
		"connecting for longer than the attempt": {variant{handler: `{http: {connectTimeout: 11s}}`},
			"spec.handlers[0].http.connectTimeout", `"11s": it is longer than timeout (10s)`},
		"a header after the attempt": {variant{handler: `{http: {timeout: 1m, headerTimeout: 2m}}`},
			"spec.handlers[0].http.headerTimeout", `"2m": it is longer than timeout (1m)`},

		"one place for two": {variant{set: twoHandlers(`status: {path: b}`, ``)},
			"spec.handlers[1].status.path", `handler "a" keeps its payload at .status.b`},
		"a place in another": {variant{set: twoHandlers(`status: {path: x}`, `status: {path: x.y}`)},
			"spec.handlers[1].status.path", `handler "a" keeps its payload at .status.x`},
		"one condition for two": {variant{set: twoHandlers(`status: {condition: true, conditionType: b}`, `status: {condition: true}`)},
			"spec.handlers[1].status.conditionType", `handler "a" keeps this condition`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := v1alpha1.Validate(typed(t, test.build(t)), compiles)
			if len(errs) != 1 || errs[0].Field != test.field || !strings.Contains(errs[0].Error(), test.want) {
				t.Errorf("got %v\nwant one of %s with %q", errs, test.field, test.want)
			}
		})
	}
}

func twoHandlers(first, second string) string {
	handler := func(id, more string) string {
		if more != "" {
			more = ", " + more
		}
		return `{id: ` + id + `, causes: [Create], http: {service: {namespace: hooks, name: x}}` + more + `}`
	}
	return `{spec: {handlers: [` + handler("a", first) + `, ` + handler("b", second) + `]}}`
}

func TestValidateTakes(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]variant{
		"places side by side":              {set: twoHandlers(`status: {path: x.a}`, `status: {path: x.ab}`)},
		"the same place in the annotation": {set: twoHandlers(`status: {target: Annotation}`, `status: {path: a}`)},
		"values of Secrets": {set: `{spec: {resource: {group: "", resource: secrets}}}`,
			handler: `{http: {includeSecretData: true}}`},
		"an annotation with capitals": {set: `{spec: {match: {annotations: [{key: example.com/SomeKey}]}}}`},
		"connecting as long as all":   {handler: `{http: {connectTimeout: 10s}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if errs := v1alpha1.Validate(typed(t, v.build(t)), compiles); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

func TestAPasswordInAURLIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"https://me:geheim@a.example.com", "https://me:geheim@a.example.com:port"} {
		set := typed(t, variant{handler: `{http: {service: null, url: "` + url + `"}}`}.build(t))
		if errs := v1alpha1.Validate(set, nil); len(errs) != 1 || strings.Contains(errs[0].Error(), "geheim") {
			t.Errorf("got %v", errs)
		}
	}
}

func TestTheWorkedSetsAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if errs := v1alpha1.Validate(typed(t, decode(t, string(text))), compiles); len(errs) > 0 {
			t.Errorf("%s: %v", file, errs.ToAggregate())
		}
	}
}

func TestAnUpdateIsRefusedOnlyForItsOwnMistakes(t *testing.T) {
	t.Parallel()
	invalid := typed(t, variant{set: `{spec: {resource: {group: dogear.dev}}}`}.build(t))
	labelled := typed(t, variant{set: `{metadata: {labels: {a: b}}, spec: {resource: {group: dogear.dev}}}`}.build(t))
	if errs := v1alpha1.ValidateUpdate(invalid, labelled, compiles); len(errs) > 0 {
		t.Errorf("the spec is as it was: %v", errs)
	}
	good := typed(t, variant{}.build(t))
	if errs := v1alpha1.ValidateUpdate(good, invalid, compiles); len(errs) != 1 {
		t.Errorf("got %v: want a refusal", errs)
	}
	invalid.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	if errs := v1alpha1.ValidateUpdate(good, invalid, compiles); len(errs) > 0 {
		t.Errorf("it is being deleted: %v", errs)
	}
}

func TestResourcesThatNoSetMayName(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{
		"clusterhandlersets.dogear.dev", "handlersets.dogear.dev", "leases.coordination.k8s.io",
		"events", "events.events.k8s.io", "bindings", "componentstatuses",
		"tokenreviews.authentication.k8s.io", "selfsubjectreviews.authentication.k8s.io",
		"subjectaccessreviews.authorization.k8s.io", "selfsubjectaccessreviews.authorization.k8s.io",
		"localsubjectaccessreviews.authorization.k8s.io", "selfsubjectrulesreviews.authorization.k8s.io",
		"imagereviews.imagepolicy.k8s.io", "mutatingwebhookconfigurations.admissionregistration.k8s.io",
		"validatingwebhookconfigurations.admissionregistration.k8s.io",
		"clusterroles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
	} {
		if v1alpha1.Forbidden(schema.ParseGroupResource(resource)) == "" {
			t.Errorf("%s is not refused", resource)
		}
	}
	for _, resource := range []string{
		"services", "secrets", "certificates.cert-manager.io", "widgets.test.dogear.dev", "events.example.com", "bookreviews.example.com",
	} {
		if reason := v1alpha1.Forbidden(schema.ParseGroupResource(resource)); reason != "" {
			t.Errorf("%s is refused: %s", resource, reason)
		}
	}
}
