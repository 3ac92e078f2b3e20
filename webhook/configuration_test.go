package webhook

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/webhook/cert"
)

var (
	certificates = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	services     = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// authority returns the PEM of an authority.
func authority(t testing.TB) []byte {
	t.Helper()
	bundle, _, err := cert.Next(nil, cert.ServiceNames("dogear", "webhook"), time.Now(), cert.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	return bundle.CABundle()
}

func configOptions(t testing.TB) ConfigOptions {
	t.Helper()
	return ConfigOptions{
		Name: "dogear", Domain: "dogear.dev", OwnNamespace: "dogear",
		ServiceAccounts: []string{"system:serviceaccount:dogear:dogear"},
		Service:         &admissionregistrationv1.ServiceReference{Namespace: "dogear", Name: "webhook"},
		CABundle:        authority(t),
		Labels:          map[string]string{"app": "dogear"},
	}
}

func mustConfigure(t testing.TB, options ConfigOptions, rules ...Rule) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	configuration, err := Configuration(rules, options)
	if err != nil {
		t.Fatal(err)
	}
	return configuration
}

// The whole of it, as people read it.
func TestConfigurationInFull(t *testing.T) {
	t.Parallel()
	options := configOptions(t)
	got := mustConfigure(t, options, Rule{
		Resource: services, Namespaced: true,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"dns": "yes"}},
	})
	got.Webhooks[0].ClientConfig.CABundle = nil
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  labels:
    app: dogear
  name: dogear
webhooks:
- admissionReviewVersions:
  - v1
  clientConfig:
    service:
      name: webhook
      namespace: dogear
      path: /admit
      port: 443
  failurePolicy: Ignore
  matchConditions:
  - expression: '!(request.userInfo.username in ["system:serviceaccount:dogear:dogear"])'
    name: not-dogear
  matchPolicy: Equivalent
  name: services.v1.core.dogear.dev
  namespaceSelector:
    matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
      - dogear
      - kube-node-lease
      - kube-system
  objectSelector:
    matchLabels:
      dns: "yes"
  reinvocationPolicy: IfNeeded
  rules:
  - apiGroups:
    - ""
    apiVersions:
    - v1
    operations:
    - CREATE
    - UPDATE
    resources:
    - services
    - services/status
    scope: Namespaced
  sideEffects: None
  timeoutSeconds: 2
`
	if string(text) != want {
		t.Errorf("got:\n%s", text)
	}
}

func TestConfigurationDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	options := configOptions(t)
	options.ServiceAccounts = []string{"b", "a", "b"}
	rules := []Rule{
		{Resource: certificates, Namespaced: true, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		{Resource: services, Namespaced: true},
		{Resource: namespaces, Operations: []admissionregistrationv1.OperationType{"UPDATE", "CREATE"}},
		{Resource: certificates, Namespaced: true, Operations: []admissionregistrationv1.OperationType{"CREATE"}},
		{Resource: certificates, Namespaced: true, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
	}
	want := mustConfigure(t, options, rules...)
	if len(want.Webhooks) != 3 {
		t.Fatalf("%d webhooks, want one a resource", len(want.Webhooks))
	}
	for range 20 {
		slices.Reverse(rules)
		rules = append(rules[1:], rules[0])
		slices.Reverse(options.ServiceAccounts)
		if got := mustConfigure(t, options, rules...); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	if merged := want.Webhooks[0]; merged.ObjectSelector.MatchLabels != nil {
		t.Errorf("the objects of one rule are bound by the selector of another: %v", merged.ObjectSelector)
	}
}

func TestConfigurationCoversSubresources(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule Rule
		want []string
	}{
		"of a core kind":   {Rule{Resource: services}, []string{"services", "services/status"}},
		"of a namespace":   {Rule{Resource: namespaces}, []string{"namespaces", "namespaces/finalize", "namespaces/status"}},
		"none of a CRD":    {Rule{Resource: certificates}, []string{"certificates"}},
		"just those given": {Rule{Resource: services, Subresources: []string{}}, []string{"services"}},
		"in order":         {Rule{Resource: certificates, Subresources: []string{"b", "a", "b"}}, []string{"certificates", "certificates/a", "certificates/b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mustConfigure(t, configOptions(t), test.rule).Webhooks[0].Rules[0].Resources; !slices.Equal(got, test.want) {
				t.Errorf("resources %v, want %v", got, test.want)
			}
		})
	}
	SubresourcesFor(namespaces.GroupResource())[0] = "changed"
	if got := SubresourcesFor(namespaces.GroupResource()); got[0] != "finalize" {
		t.Error("the table can be changed from outside")
	}
}

func TestConfigurationExcludesNamespaces(t *testing.T) {
	t.Parallel()
	options := configOptions(t)
	options.OwnNamespace = ""
	own := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "shop"}}
	webhook := mustConfigure(t, options, Rule{Resource: certificates, Namespaced: true, NamespaceSelector: own}).Webhooks[0]
	selector, err := metav1.LabelSelectorAsSelector(webhook.NamespaceSelector)
	if err != nil {
		t.Fatal(err)
	}
	if got := selector.String(); got != "kubernetes.io/metadata.name=shop,kubernetes.io/metadata.name notin (kube-node-lease,kube-system)" {
		t.Errorf("selector %s", got)
	}
	if len(own.MatchExpressions) > 0 {
		t.Error("the rule was changed")
	}
}

func TestConfigurationNamesAreValidAndTheirOwn(t *testing.T) {
	t.Parallel()
	options := configOptions(t)
	options.Domain = strings.TrimSuffix(strings.Repeat("domain.", maxDomain/7+1), ".")[:maxDomain]
	long := strings.TrimSuffix(strings.Repeat("group.", 40), ".")
	names := map[string]bool{}
	for _, resource := range []schema.GroupVersionResource{
		services, certificates, {Group: long, Version: "v1", Resource: "as"}, {Group: long, Version: "v2", Resource: "as"},
		{Group: "cert-manager.io", Version: "v1beta1", Resource: "certificates"},
	} {
		name := mustConfigure(t, options, Rule{Resource: resource}).Webhooks[0].Name
		if faults := validation.IsFullyQualifiedName(field.NewPath("name"), name); len(faults) > 0 || names[name] {
			t.Errorf("%s: name %q: %v", resource, name, faults)
		}
		names[name] = true
	}
}

func TestMatchConditionLetsTheOwnAccountsOut(t *testing.T) {
	t.Parallel()
	strange := "o'brien \"x\\\n]é\u2028😀\x01"
	options := configOptions(t)
	options.ServiceAccounts = []string{"system:serviceaccount:dogear:dogear", strange}
	condition := mustConfigure(t, options, Rule{Resource: services}).Webhooks[0].MatchConditions[0]
	environment, err := cel.NewEnv(cel.Variable("request", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := environment.Compile(condition.Expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := environment.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]bool{
		"": true, "alice": true, "system:serviceaccount:dogear:other": true,
		"system:serviceaccount:dogear:dogear": false, strange: false,
	} {
		got, _, err := program.Eval(map[string]any{"request": map[string]any{"userInfo": map[string]any{"username": user}}})
		if err != nil || got.Value() != want {
			t.Errorf("requests of %q are sent: %v, want %t (%v)", user, got, want, err)
		}
	}
	options.ServiceAccounts = nil
	if got := mustConfigure(t, options, Rule{Resource: services}).Webhooks[0].MatchConditions; got != nil {
		t.Errorf("conditions %v without an account", got)
	}
}

func TestConfigurationRefuses(t *testing.T) {
	t.Parallel()
	url := func(url string) func(*ConfigOptions) {
		return func(o *ConfigOptions) { o.Service, o.URL = nil, url }
	}
	tests := map[string]struct {
		change func(*ConfigOptions)
		rules  []Rule
		want   error
	}{
		"no authority":            {change: func(o *ConfigOptions) { o.CABundle = nil }, want: ErrEmptyCABundle},
		"a broken authority":      {change: func(o *ConfigOptions) { o.CABundle = []byte("text") }, want: ErrEmptyCABundle},
		"half an authority":       {change: func(o *ConfigOptions) { o.CABundle = bytes.Clone(o.CABundle[:200]) }, want: ErrEmptyCABundle},
		"no name":                 {change: func(o *ConfigOptions) { o.Name = "" }, want: ErrConfig},
		"no domain":               {change: func(o *ConfigOptions) { o.Domain = "" }, want: ErrConfig},
		"a long domain":           {change: func(o *ConfigOptions) { o.Domain = strings.Repeat("a.", 100) + "a" }, want: ErrConfig},
		"another failure policy":  {change: func(o *ConfigOptions) { o.FailurePolicy = "Maybe" }, want: ErrConfig},
		"a long timeout":          {change: func(o *ConfigOptions) { o.TimeoutSeconds = 31 }, want: ErrConfig},
		"no target":               {change: url(""), want: ErrConfig},
		"two targets":             {change: func(o *ConfigOptions) { o.URL = "https://127.0.0.1" }, want: ErrConfig},
		"half a service":          {change: func(o *ConfigOptions) { o.Service = &admissionregistrationv1.ServiceReference{Name: "a"} }, want: ErrConfig},
		"a URL without TLS":       {change: url("http://127.0.0.1"), want: ErrConfig},
		"a URL with a user":       {change: url("https://a@127.0.0.1"), want: ErrConfig},
		"a URL with a query":      {change: url("https://127.0.0.1?a=b"), want: ErrConfig},
		"an URL that is none":     {change: url("://"), want: ErrConfig},
		"no version":              {rules: []Rule{{Resource: schema.GroupVersionResource{Resource: "services"}}}, want: ErrRule},
		"every resource":          {rules: []Rule{{Resource: schema.GroupVersionResource{Version: "v1", Resource: "*"}}}, want: ErrRule},
		"every subresource":       {rules: []Rule{{Resource: services, Subresources: []string{"*"}}}, want: ErrRule},
		"deletions":               {rules: []Rule{{Resource: services, Operations: []admissionregistrationv1.OperationType{"DELETE"}}}, want: ErrRule},
		"every operation":         {rules: []Rule{{Resource: services, Operations: []admissionregistrationv1.OperationType{"*"}}}, want: ErrRule},
		"two scopes":              {rules: []Rule{{Resource: services}, {Resource: services, Namespaced: true}}, want: ErrRule},
		"a selector that is none": {rules: []Rule{{Resource: services, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": ""}}}}, want: ErrRule},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := configOptions(t)
			if test.change != nil {
				test.change(&options)
			}
			if _, err := Configuration(test.rules, options); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestConfigurationByURL(t *testing.T) {
	t.Parallel()
	options := configOptions(t)
	options.Service, options.URL = nil, "https://127.0.0.1:9443/admit"
	options.FailurePolicy, options.TimeoutSeconds = admissionregistrationv1.Fail, 5
	webhook := mustConfigure(t, options, Rule{Resource: services}).Webhooks[0]
	if webhook.ClientConfig.Service != nil || *webhook.ClientConfig.URL != options.URL {
		t.Errorf("client %+v", webhook.ClientConfig)
	}
	if *webhook.FailurePolicy != admissionregistrationv1.Fail || *webhook.TimeoutSeconds != 5 {
		t.Errorf("policy %s, timeout %d", *webhook.FailurePolicy, *webhook.TimeoutSeconds)
	}
}

// Writes of subresources pass whatever becomes of others: kubelets report by
// them, and namespaces are emptied by them.
func TestConfigurationNeverRefusesSubresources(t *testing.T) {
	t.Parallel()
	options := configOptions(t)
	options.FailurePolicy = admissionregistrationv1.Fail
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	c := mustConfigure(t, options, Rule{Resource: namespaces}, Rule{Resource: certificates, Namespaced: true})
	have := map[string]admissionregistrationv1.FailurePolicyType{}
	for _, w := range c.Webhooks {
		for _, resource := range w.Rules[0].Resources {
			have[resource] = *w.FailurePolicy
		}
	}
	want := map[string]admissionregistrationv1.FailurePolicyType{
		"namespaces": admissionregistrationv1.Fail, "certificates": admissionregistrationv1.Fail,
		"namespaces/finalize": admissionregistrationv1.Ignore, "namespaces/status": admissionregistrationv1.Ignore,
	}
	if !maps.Equal(have, want) || len(c.Webhooks) != 3 {
		t.Errorf("%d webhooks, policies %v, want %v", len(c.Webhooks), have, want)
	}
	if names := []string{c.Webhooks[0].Name, c.Webhooks[1].Name, c.Webhooks[2].Name}; len(slices.Compact(slices.Sorted(slices.Values(names)))) != 3 {
		t.Errorf("names %v", names)
	}
}
