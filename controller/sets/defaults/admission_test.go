package defaults_test

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/controller/sets/defaults"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
	"github.com/dogear-dev/dogear/webhook"
	"github.com/dogear-dev/dogear/webhook/cert"
)

var certificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

// admitting serves the defaults of sets, in their order, to the API server,
// for Certificates of a namespace of its own. It returns when they are called.
func admitting(t *testing.T, declared ...string) (client.Client, string) {
	t.Helper()
	c, namespace := rigtest.Client(t), rigtest.Namespace(t)
	var registrations []handler.Registration
	for i, text := range declared {
		d := declare(t, text)
		fn, err := defaults.Compile(d, func(name string) (map[string]any, error) {
			return object{"metadata": object{"name": name}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		spec := handler.Spec{ID: fmt.Sprintf("set%d.defaults", i), Kind: certificateKind, On: handler.Create}
		if d.OnUpdate() {
			spec.On |= handler.Update
		}
		registrations = append(registrations, handler.Registration{Spec: spec, Object: &unstructured.Unstructured{}, Defaults: fn})
	}
	sets, err := selection.Compile(registrations, runtime.NewScheme(), nil)
	if err != nil {
		t.Fatal(err)
	}
	admission := &webhook.Admission{Prefix: "dogear.dev"}
	admission.Declare(sets)
	serve(t, c, namespace, certificateKind.GroupVersion().WithResource("certificates"), admission)
	rigtest.Eventually(t, time.Minute, func() error {
		probe := certificate(t, namespace, "probe", "{}")
		if err := c.Create(t.Context(), probe, client.DryRunAll); err != nil {
			return err
		}
		if probe.GetLabels()["called"] != "yes" {
			return fmt.Errorf("not called: labels %v", probe.GetLabels())
		}
		return nil
	})
	return c, namespace
}

// serve has the API server call an admitter for objects of the namespace.
func serve(t *testing.T, c client.Client, namespace string, resource schema.GroupVersionResource, admitter webhook.Admitter) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	manager := &cert.Manager{Client: c, Secret: types.NamespacedName{Namespace: namespace, Name: "tls"}, Names: []string{"127.0.0.1"}}
	server, err := webhook.NewServer(webhook.ServerOptions{
		Listener: listener, Source: cert.FromSecret(c, manager.Secret), Admitter: admitter, LameDuck: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	publisher := &webhook.Publisher{Client: c, Build: func(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
		bundle, err := manager.Ensure(ctx)
		if err != nil {
			return nil, err
		}
		return webhook.Configuration([]webhook.Rule{{
			Resource: resource, Namespaced: true,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		}}, webhook.ConfigOptions{
			Name: namespace, Domain: "dogear.dev", URL: "https://" + listener.Addr().String() + "/admit", CABundle: bundle.CABundle(),
			TimeoutSeconds: 10, // this machine may be busy
		})
	}}
	if err := publisher.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// certificate lacks what the CRD requires, which the defaults have.
func certificate(t *testing.T, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: object{"spec": parse(t, spec).Object}}
	u.Object["spec"].(object)["dnsNames"] = []any{"a.example.com"}
	u.SetGroupVersionKind(certificateKind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

const (
	first = `
operations: [Create]
values:
  metadata: {labels: {called: "yes"}, annotations: {example.com/by: first}}
  spec:
    privateKey: {rotationPolicy: Always}
    issuerRef: {kind: ClusterIssuer, name: ca}
computed:
- {path: spec.secretName, expression: "object.?metadata.?name.orValue(object.?metadata.?generateName.orValue('x') + 'new') + '-tls'"}
- {path: spec.commonName, expression: "object.spec.secretName + '.' + namespaceObject.metadata.name.split('-')[0]"}
- {path: "metadata.annotations['example.com/owner']", expression: request.userInfo.username}
- {path: spec.duration, expression: object.spec.missing}`
	second = `
operations: [Create, Update]
values:
  metadata: {annotations: {example.com/by: second, example.com/second: "yes"}}
  spec: {privateKey: {rotationPolicy: Never, algorithm: ECDSA}, revisionHistoryLimit: 3}`
)

func TestDefaultsLandInACertificate(t *testing.T) {
	t.Parallel()
	c, namespace := admitting(t, first, second)
	dry := certificate(t, namespace, "web", "{}")
	if err := c.Create(t.Context(), dry, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	u := certificate(t, namespace, "web", "{}")
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	want := object{
		"dnsNames": []any{"a.example.com"}, "secretName": "web-tls", "commonName": "web-tls.testdefaultslandinacertificate", "revisionHistoryLimit": int64(3),
		"privateKey": object{"rotationPolicy": "Always", "algorithm": "ECDSA"}, "issuerRef": object{"kind": "ClusterIssuer", "name": "ca"},
	}
	if !reflect.DeepEqual(u.Object["spec"], want) {
		t.Errorf("got  %v\nwant %v", u.Object["spec"], want)
	}
	if !reflect.DeepEqual(dry.Object["spec"], u.Object["spec"]) || !reflect.DeepEqual(dry.GetAnnotations(), u.GetAnnotations()) {
		t.Errorf("a dry run gives %v, %v", dry.Object["spec"], dry.GetAnnotations())
	}
	a := u.GetAnnotations()
	if a["example.com/by"] != "first" || a["example.com/second"] != "yes" || a["example.com/owner"] == "" {
		t.Errorf("annotations %v", a)
	}

	mine := certificate(t, namespace, "mine", `{secretName: mine, privateKey: {rotationPolicy: Never}, issuerRef: {name: own}, revisionHistoryLimit: 1}`)
	if err := c.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	want = object{
		"dnsNames": []any{"a.example.com"}, "secretName": "mine", "commonName": "mine.testdefaultslandinacertificate", "revisionHistoryLimit": int64(1),
		"privateKey": object{"rotationPolicy": "Never", "algorithm": "ECDSA"}, "issuerRef": object{"kind": "ClusterIssuer", "name": "own"},
	}
	if !reflect.DeepEqual(mine.Object["spec"], want) {
		t.Errorf("got  %v\nwant %v", mine.Object["spec"], want)
	}
}

func TestDefaultsOfAnObjectWithoutAName(t *testing.T) {
	t.Parallel()
	c, namespace := admitting(t, first)
	u := certificate(t, namespace, "", "{}")
	u.SetGenerateName("web-")
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if got := u.Object["spec"].(object)["secretName"]; got != "web-new-tls" || u.GetName() == "" {
		t.Errorf("name %q, secretName %v", u.GetName(), got)
	}
}

// Fields that are taken away come back only where updates are declared.
func TestDefaultsAtUpdatesOnlyIfDeclared(t *testing.T) {
	t.Parallel()
	c, namespace := admitting(t, first, second)
	u := certificate(t, namespace, "web", "{}")
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"commonName":null,"revisionHistoryLimit":null}}`))
	if err := c.Patch(t.Context(), u, patch); err != nil {
		t.Fatal(err)
	}
	spec := u.Object["spec"].(object)
	if _, ok := spec["commonName"]; ok || spec["revisionHistoryLimit"] != int64(3) {
		t.Errorf("spec %v", spec)
	}
	version := u.GetResourceVersion()
	if err := c.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"revisionHistoryLimit":3}}`))); err != nil {
		t.Fatal(err)
	}
	if u.GetResourceVersion() != version {
		t.Error("a patch that changes nothing made a version")
	}
}

// One more apply of the same manifest changes nothing.
func TestApplyingOnceMoreIsNoChange(t *testing.T) {
	t.Parallel()
	c, namespace := admitting(t, first, second)
	apply := func(owner string) *unstructured.Unstructured {
		u := certificate(t, namespace, "web", "{privateKey: {algorithm: RSA}}")
		u.SetLabels(map[string]string{"app": "web"})
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(owner)); err != nil {
			t.Fatal(err)
		}
		stored := certificate(t, namespace, "web", "{}")
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
			t.Fatal(err)
		}
		return stored
	}
	once := apply("kubectl")
	if once.Object["spec"].(object)["secretName"] != "web-tls" || once.GetLabels()["called"] != "yes" {
		t.Errorf("not defaulted: %v", once.Object)
	}
	for range 2 {
		if again := apply("kubectl"); again.GetResourceVersion() != once.GetResourceVersion() {
			t.Errorf("applied again:\n%v\n%v", once.Object, again.Object)
		}
	}
}

// A null that the API server lets through to admission is meant: it stays, as
// it does where the CRD itself has a default.
func TestANullStaysWhereTheSchemaAllowsIt(t *testing.T) {
	t.Parallel()
	schemaOf(t, judgedKind)
	c, namespace := rigtest.Client(t), rigtest.Namespace(t)
	seen := make(chan object, 10)
	fn, err := defaults.Compile(declare(t, "values: {spec: {text: abc, nullable: abc}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := selection.Compile([]handler.Registration{{
		Spec: handler.Spec{ID: "nulls", Kind: judgedKind, On: handler.Create}, Object: &unstructured.Unstructured{},
		Defaults: func(u *unstructured.Unstructured, a handler.Admission) (*unstructured.Unstructured, error) {
			if spec, ok := u.Object["spec"].(object); ok {
				seen <- spec
			}
			return fn(u, a)
		},
	}}, runtime.NewScheme(), nil)
	if err != nil {
		t.Fatal(err)
	}
	admission := &webhook.Admission{Prefix: "dogear.dev"}
	admission.Declare(sets)
	serve(t, c, namespace, judgedKind.GroupVersion().WithResource("judgeds"), admission)
	var u *unstructured.Unstructured
	rigtest.Eventually(t, time.Minute, func() error {
		u = &unstructured.Unstructured{Object: object{"spec": object{"text": nil, "nullable": nil, "size": int64(1)}}}
		u.SetGroupVersionKind(judgedKind)
		u.SetNamespace(namespace)
		u.SetName("x")
		if err := c.Create(t.Context(), u, client.DryRunAll); err != nil {
			return err
		}
		if len(seen) == 0 {
			return fmt.Errorf("not called: %v", u.Object)
		}
		return nil
	})
	if got, want := <-seen, (object{"nullable": nil, "size": int64(1)}); !reflect.DeepEqual(got, want) {
		t.Errorf("admission sees %v, want %v", got, want)
	}
	if got, want := u.Object["spec"], (object{"text": "abc", "nullable": nil, "size": int64(1)}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
