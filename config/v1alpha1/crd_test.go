package v1alpha1_test

import (
	"os"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) { rigtest.Main(m) }

// install makes the API server know the sets.
func install(t *testing.T) client.Client {
	t.Helper()
	crds, err := rig.LoadCRDs("../../charts/dogear/files/crds")
	if err != nil {
		t.Fatal(err)
	}
	if len(crds) != 2 {
		t.Fatalf("there are %d CRDs: want 2", len(crds))
	}
	if err := rigtest.ControlPlane(t).InstallCRDs(t.Context(), crds...); err != nil {
		t.Fatal(err)
	}
	return rigtest.Client(t)
}

const clusterBase = `
apiVersion: dogear.dev/v1alpha1
kind: ClusterHandlerSet
metadata: {name: base}
spec:
  resource: {group: cert-manager.io, version: v1, resource: certificates}
  handlers: [{id: a, causes: [Create], http: {service: {namespace: hooks, name: a}}}]
`

const namespacedBase = `
apiVersion: dogear.dev/v1alpha1
kind: HandlerSet
metadata: {name: base, namespace: default}
spec:
  resource: {group: cert-manager.io, version: v1, resource: certificates}
  handlers: [{id: a, causes: [Create], http: {service: {name: a}}}]
`

// variant is a set that differs from a base by merge patches.
type variant struct {
	namespaced bool
	set        string // of the whole
	handler    string // of its handler
}

func (v variant) build(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	base := clusterBase
	if v.namespaced {
		base = namespacedBase
	}
	set := decode(t, merge(t, base, v.set))
	if v.handler != "" {
		handlers, _, _ := unstructured.NestedSlice(set.Object, "spec", "handlers")
		one, err := yaml.Marshal(handlers[0])
		if err != nil {
			t.Fatal(err)
		}
		handlers[0] = decode(t, merge(t, string(one), v.handler)).Object
		if err := unstructured.SetNestedSlice(set.Object, handlers, "spec", "handlers"); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

func merge(t *testing.T, base, patch string) string {
	t.Helper()
	a, err := yaml.YAMLToJSON([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	if patch == "" {
		return string(a)
	}
	b, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := jsonpatch.MergePatch(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return string(merged)
}

func decode(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// typed reads a set into its Go type, as strictly as can be.
func typed(t *testing.T, u *unstructured.Unstructured) v1alpha1.AnySet {
	t.Helper()
	var set v1alpha1.AnySet = &v1alpha1.ClusterHandlerSet{}
	if u.GetKind() == "HandlerSet" {
		set = &v1alpha1.HandlerSet{}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, set, true); err != nil {
		t.Fatal(err)
	}
	return set
}

// create asks the API server without storing anything.
func create(t *testing.T, c client.Client, set client.Object) error {
	t.Helper()
	return c.Create(t.Context(), set, client.DryRunAll, client.FieldValidation("Strict"))
}

func TestGoodSetsAreTaken(t *testing.T) {
	c := install(t)
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	design, err := os.ReadFile("testdata/design.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, u := range map[string]*unstructured.Unstructured{
		"the least":              variant{}.build(t),
		"the least in namespace": variant{namespaced: true}.build(t),
		"that of the design":     decode(t, string(design)),
		"all fields":             decode(t, string(full)),
		"defaults only":          variant{set: `{spec: {handlers: null, defaults: {values: {spec: {size: 1}}}}}`}.build(t),
		"computed only":          variant{set: `{spec: {handlers: null, defaults: {computed: [{path: "metadata.labels['example.com/team']", expression: "'a'"}]}}}`}.build(t),
		"core group":             variant{set: `{spec: {resource: {group: "", resource: services}}}`}.build(t),
		"no group":               variant{set: `{spec: {resource: {group: null, resource: services}}}`}.build(t),
		"factor in text":         variant{handler: `{retry: {factor: "1.5"}}`}.build(t),
		"a field of a kind without spec": variant{set: `{spec: {handlers: null, defaults: {operations: [Create, Update], computed: [
			{path: reclaimPolicy, expression: "'Retain'"}, {path: "data['a.b']", expression: "'x'"}]}}}`}.build(t),
		"a url":                   variant{handler: `{http: {service: null, url: "https://hooks.example.com:8443/a?b=c"}}`}.build(t),
		"a url and a secret":      variant{handler: `{http: {service: null, url: "https://hooks.example.com", secretRef: {namespace: a, name: b}}}`}.build(t),
		"in namespace, a secret":  variant{namespaced: true, handler: `{http: {secretRef: {name: b}}}`}.build(t),
		"id of the owner's place": variant{handler: `{id: conditions, status: {target: Annotation}}`}.build(t),
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(t, c, u); err != nil {
				t.Fatal(err)
			}
			if errs := v1alpha1.Validate(typed(t, u), nil); len(errs) > 0 {
				t.Errorf("the schema takes it, and Validate does not: %v", errs.ToAggregate())
			}
		})
	}
}

func TestBadSetsAreRefusedWithAdvice(t *testing.T) {
	c := install(t)
	for name, test := range map[string]struct {
		variant
		want string
	}{
		"neither handlers nor defaults": {variant{set: `{spec: {handlers: []}}`}, "declare handlers, defaults or both"},
		"defaults of nothing":           {variant{set: `{spec: {defaults: {operations: [Create]}}}`}, "set values, computed or both"},
		"defaults at Update only":       {variant{set: `{spec: {defaults: {operations: [Update], values: {}}}}`}, "add Create"},
		"values that are no object":     {variant{set: `{spec: {defaults: {values: [1]}}}`}, "spec.defaults.values"},
		"a group with its version":      {variant{set: `{spec: {resource: {group: cert-manager.io/v1}}}`}, "want an API group without the version"},
		"a version with its group":      {variant{set: `{spec: {resource: {version: cert-manager.io/v1}}}`}, "want a version without the group"},
		"a kind as resource":            {variant{set: `{spec: {resource: {resource: Certificate}}}`}, "want the plural name in lower case"},
		"a subresource":                 {variant{set: `{spec: {resource: {resource: certificates/status}}}`}, "without a subresource"},
		"no version":                    {variant{set: `{spec: {resource: {version: null}}}`}, "spec.resource.version: Required value"},
		"a long name":                   {variant{set: `{metadata: {name: ` + strings.Repeat("a", 64) + `}}`}, "at most 63 characters"},
		"an unknown policy":             {variant{set: `{spec: {existing: Ignore}}`}, `supported values: "Handle", "Adopt"`},
		"an annotation, both ways":      {variant{set: `{spec: {match: {annotations: [{key: a, value: b, absent: true}]}}}`}, "set value or absent, not both"},
		"conditions of one name": {variant{set: `{spec: {match: {conditions: [
			{name: a, expression: "true"}, {name: a, expression: "false"}]}}}`}, "spec.match.conditions[1]: Duplicate value"},
		"a condition's name":     {variant{set: `{spec: {match: {conditions: [{name: "a b", expression: "true"}]}}}`}, "want letters, digits and -_."},
		"computed status":        {variant{set: `{spec: {defaults: {computed: [{path: status.phase, expression: "1"}]}}}`}, "status, apiVersion, kind and the rest of metadata cannot be filled in"},
		"computed kind":          {variant{set: `{spec: {defaults: {computed: [{path: kind, expression: "1"}]}}}`}, "cannot be filled in"},
		"computed name":          {variant{set: `{spec: {defaults: {computed: [{path: metadata.name, expression: "1"}]}}}`}, "the rest of metadata cannot be filled in"},
		"computed labels":        {variant{set: `{spec: {defaults: {computed: [{path: metadata.labels, expression: "1"}]}}}`}, "the rest of metadata cannot be filled in"},
		"computed item":          {variant{set: `{spec: {defaults: {computed: [{path: "spec.a[b=c].d", expression: "1"}]}}}`}, "items of lists cannot be filled in"},
		"computed without value": {variant{set: `{spec: {defaults: {computed: [{path: spec.a, expression: ""}]}}}`}, "spec.defaults.computed[0].expression"},

		"duplicate IDs":       {variant{set: `{spec: {handlers: [{id: a, causes: [Create], http: {service: {namespace: h, name: a}}}, {id: a, causes: [Update], http: {service: {namespace: h, name: b}}}]}}`}, "two handlers have the same id: each needs its own"},
		"an ID with a dot":    {variant{handler: `{id: a.b}`}, "want 1 to 63 letters, digits, - and _"},
		"an ID with a slash":  {variant{handler: `{id: a/b}`}, "want 1 to 63 letters, digits, - and _"},
		"an empty ID":         {variant{handler: `{id: ""}`}, "want 1 to 63 letters"},
		"a long ID":           {variant{handler: `{id: ` + strings.Repeat("a", 64) + `}`}, "may not be more than 63"},
		"the owner's place":   {variant{handler: `{id: conditions}`}, "belong to the object's owner: choose another id, or set status.path"},
		"no cause":            {variant{handler: `{causes: []}`}, "spec.handlers[0].causes"},
		"an unknown cause":    {variant{handler: `{causes: [Creation]}`}, `supported values: "Create", "Update", "Delete", "Resume"`},
		"a cause twice":       {variant{handler: `{causes: [Create, Create]}`}, "Duplicate value"},
		"no endpoint":         {variant{handler: `{http: null}`}, "spec.handlers[0].http: Required value"},
		"a negative revision": {variant{handler: `{revision: -1}`}, "spec.handlers[0].revision"},

		"service and url":       {variant{handler: `{http: {url: "https://a.example.com"}}`}, "set either service (in this cluster) or url"},
		"neither service nor":   {variant{handler: `{http: {service: null}}`}, "set either service (in this cluster) or url"},
		"an http url":           {variant{handler: `{http: {service: null, url: "http://a.example.com"}}`}, "want an https URL"},
		"a url with a password": {variant{handler: `{http: {service: null, url: "https://a:b@c.example.com/"}}`}, "without user, password"},
		"a url with a fragment": {variant{handler: `{http: {service: null, url: "https://c.example.com/#a"}}`}, "without user, password and fragment"},
		"plaintext url":         {variant{handler: `{http: {service: null, url: "https://c.example.com/", plaintext: true}}`}, "plaintext is for services only"},
		"plaintext with a CA":   {variant{handler: `{http: {plaintext: true, caSecretRef: {name: a}}}`}, "plaintext has no certificates"},
		"two CAs":               {variant{handler: `{http: {caBundle: YQ==, caSecretRef: {name: a}}}`}, "set either caBundle or caSecretRef"},
		"a service's domain":    {variant{handler: `{http: {service: {name: a.b.svc}}}`}, "without namespace and domain"},
		"a port out of range":   {variant{handler: `{http: {service: {port: 70000}}}`}, "spec.handlers[0].http.service.port"},
		"a path without slash":  {variant{handler: `{http: {service: {path: a}}}`}, "want a path that begins with a slash"},
		"no namespace":          {variant{handler: `{http: {service: {namespace: null}}}`}, "a ClusterHandlerSet has no namespace of its own: set http.service.namespace"},
		"no secret's namespace": {variant{handler: `{http: {service: null, url: "https://a.example.com", secretRef: {name: b}}}`}, "set the namespace of secretRef"},
		"great concurrency":     {variant{handler: `{http: {concurrency: 257}}`}, "spec.handlers[0].http.concurrency"},

		"an item as projection":    {variant{handler: `{http: {projection: ["spec.a[b=c]"]}}`}, "items of lists cannot be picked"},
		"a timeout in words":       {variant{handler: `{http: {timeout: 10 minutes}}`}, `want a duration such as "300ms", "10s" or "1h30m"`},
		"a timeout without a unit": {variant{handler: `{http: {timeout: "10"}}`}, `want a duration such as "300ms", "10s" or "1h30m"`},
		"a timeout as a number":    {variant{handler: `{http: {timeout: 10}}`}, "spec.handlers[0].http.timeout"},
		"a long timeout":           {variant{handler: `{http: {timeout: 6m}}`}, "want 100ms to 5m; for longer work answer Waiting"},
		"no time to connect":       {variant{handler: `{http: {connectTimeout: 0s}}`}, "want 10ms to 5m"},
		"a day of header":          {variant{handler: `{http: {headerTimeout: 24h}}`}, "want 10ms to 5m"},

		"initial above max":       {variant{handler: `{retry: {initial: 10m, max: 5m}}`}, "initial is greater than max: lower initial or raise max"},
		"initial in words":        {variant{handler: `{retry: {initial: a while}}`}, "want a duration such as"},
		"max of two days":         {variant{handler: `{retry: {max: 48h}}`}, "want 10ms to 24h"},
		"a retry's timeout":       {variant{handler: `{retry: {timeout: 0s}}`}, "want 1s or more"},
		"a factor of 0":           {variant{handler: `{retry: {factor: 0}}`}, "want 1 to 100"},
		"a factor below 1":        {variant{handler: `{retry: {factor: "0.5"}}`}, "want 1 to 100"},
		"a factor in words":       {variant{handler: `{retry: {factor: two}}`}, "want 1 to 100"},
		"a factor not in quotes":  {variant{handler: `{retry: {factor: 1.5}}`}, "spec.handlers[0].retry.factor"},
		"a negative limit":        {variant{handler: `{retry: {limit: -1}}`}, "spec.handlers[0].retry.limit"},
		"an unknown error policy": {variant{handler: `{retry: {onError: Panic}}`}, `supported values: "Retry", "Fail", "Ignore"`},

		"a path in the annotation": {variant{handler: `{status: {target: Annotation, path: a}}`}, "set target to Auto or Status"},
		"an unknown target":        {variant{handler: `{status: {target: Spec}}`}, `supported values: "Auto", "Annotation", "Status"`},
		"a path with status":       {variant{handler: `{status: {path: status.a}}`}, "without the word status"},
		"a path of the owner":      {variant{handler: `{status: {path: conditions.a}}`}, "belong to the object's owner"},
		"a path of empty names":    {variant{handler: `{status: {path: a..b}}`}, "want names joined by dots"},
		"a condition type alone":   {variant{handler: `{status: {conditionType: A}}`}, "set condition to true"},
		"a condition type":         {variant{handler: `{status: {condition: true, conditionType: "a b"}}`}, "want the type of a condition"},
		"an unknown field":         {variant{handler: `{http: {timeuot: 1s}}`}, `unknown field "spec.handlers[0].http.timeuot"`},

		"in namespace, others selected": {variant{namespaced: true, set: `{spec: {match: {namespaceSelector: {}}}}`}, "remove match.namespaceSelector, or use a ClusterHandlerSet"},
		"in namespace, other service":   {variant{namespaced: true, handler: `{http: {service: {namespace: other}}}`}, "calls only Services in its own namespace"},
		"in namespace, other secret":    {variant{namespaced: true, handler: `{http: {secretRef: {namespace: other, name: a}}}`}, "reads only Secrets in its own namespace"},
		"in namespace, other CA":        {variant{namespaced: true, handler: `{http: {caSecretRef: {namespace: other, name: a}}}`}, "reads only Secrets in its own namespace"},
		"in namespace, other client":    {variant{namespaced: true, handler: `{http: {clientCertificateSecretRef: {namespace: other, name: a}}}`}, "reads only Secrets in its own namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			err := create(t, c, test.build(t))
			if err == nil {
				t.Fatalf("it was taken: want a refusal with %q", test.want)
			}
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %q", err, test.want)
			}
		})
	}
}

func TestOnlyTheVersionOfTheResourceCanChange(t *testing.T) {
	c := install(t)
	set := variant{set: `{metadata: {name: changing}}`}.build(t)
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"group": "example.com", "resource": "issuers"} {
		changed := set.DeepCopy()
		if err := unstructured.SetNestedField(changed.Object, value, "spec", "resource", name); err != nil {
			t.Fatal(err)
		}
		err := c.Update(t.Context(), changed)
		if want := "group and resource cannot be changed: delete the set and create it anew"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %q", name, err, want)
		}
	}
	if err := unstructured.SetNestedField(set.Object, "v2", "spec", "resource", "version"); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), set); err != nil {
		t.Error(err)
	}
}

func TestTheSchemaFillsInItsDefaults(t *testing.T) {
	c := install(t)
	u := variant{set: `{spec: {resource: {group: null}, defaults: {values: {spec: {a: {b: [1, null]}}}}}}`, handler: `{retry: {limit: 1}, status: {condition: true}}`}.build(t)
	if err := create(t, c, u); err != nil {
		t.Fatal(err)
	}
	spec := typed(t, u).Declared()
	h := spec.Handlers[0]
	if spec.Existing != v1alpha1.ExistingHandle || len(spec.Defaults.Operations) != 1 || spec.Defaults.Operations[0] != v1alpha1.DefaultsCreate ||
		h.HTTP.Concurrency != 8 || h.Retry.OnError != v1alpha1.ErrorRetry || h.Status.Target != v1alpha1.TargetAuto {
		t.Errorf("got %+v", spec)
	}
	if group, found, _ := unstructured.NestedString(u.Object, "spec", "resource", "group"); !found || group != "" {
		t.Errorf("got group %q, %v: want it empty, and there", group, found)
	}
	if got := string(spec.Defaults.Values.Raw); got != `{"spec":{"a":{"b":[1,null]}}}` {
		t.Errorf("got values %s: want them as they were", got)
	}
}

func TestASetRoundTripsThroughItsType(t *testing.T) {
	c := install(t)
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set := typed(t, decode(t, string(full))).(*v1alpha1.ClusterHandlerSet)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := scheme.Convert(set, u, nil); err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterHandlerSet"))
	unstructured.RemoveNestedField(u.Object, "status")
	if err := create(t, c, u); err != nil {
		t.Fatal(err)
	}
	again := typed(t, u)
	if before, after := *set.Declared(), *again.Declared(); !equal(before, after) {
		t.Errorf("got  %+v\nwant %+v", after, before)
	}
}
