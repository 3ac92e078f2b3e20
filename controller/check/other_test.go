package check_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/check"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/controller/uninstall"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// TestCheckOfAnOperator: of one that was made with the SDK, what its API objects tell.
func TestCheckOfAnOperator(t *testing.T) {
	c := newCluster(t)
	c.namespace, c.shop = rigtest.Namespace(t), rigtest.Namespace(t)
	const domain = "widgets.example.com"
	address := freeAddress(t)
	account, err := c.cp.ServiceAccountConfig(t.Context(), c.namespace, "operator", rig.Rights{Cluster: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}})
	c.must(err)
	op, err := controller.New(controller.Options{
		Domain: domain, Config: account, Namespace: c.namespace, LeaderElection: true, Log: rigtest.Log(t),
		GracePeriod: time.Second, Webhook: &controller.Webhook{Address: address, URL: "https://" + address, LameDuck: -1},
	})
	c.must(err)
	kind := schema.GroupVersionKind{Group: "test.dogear.dev", Version: "v1", Kind: "Widget"}
	handler.Register(op, handler.Spec{ID: "h", On: handler.Create | handler.Delete, Kind: kind},
		func(context.Context, *handler.Request[*unstructured.Unstructured]) (handler.Result, error) {
			return handler.Result{}, nil
		})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- op.Start(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	of := func(o *check.Options) { o.Domain, o.Namespace = domain, c.namespace }

	c.want("controller", "leader", check.OK, nil, of)
	c.want("webhook", "stamps", check.Skipped, []string{"widgets.test.dogear.dev: no object of it is selected"}, of)
	widget := c.apply(`{apiVersion: test.dogear.dev/v1, kind: Widget, metadata: {name: one}, spec: {size: 1}}`)
	c.want("webhook", "stamps", check.OK, []string{"widgets.test.dogear.dev: stamped (a copy of " + c.shop + "/one)"}, of)
	rigtest.Eventually(t, settle, func() error {
		if r := c.report(of); r.Summary.Verdict != check.OK || r.Summary.Skipped > 1 { // endpoints: a URL
			return fmt.Errorf("%+v", r)
		}
		return nil
	})
	c.drop(widget)
	stop()
	c.want("controller", "leader", check.Failed, nil, of)
	c.want("controller", "leader", check.Skipped, []string{"name it with -n"}, func(o *check.Options) { o.Domain = domain })
	c.must(c.admin.Delete(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "dogear." + domain}}))
}

// TestCheckOfACertificateThatHasExpired: a server shows it, and API servers
// would refuse it.
func TestCheckOfACertificateThatHasExpired(t *testing.T) {
	c := newCluster(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	c.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "old"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	c.must(err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	fails, none := admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone
	m := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "dogear.old.example.com"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "widgets.dogear.old.example.com", FailurePolicy: &fails, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new(server.URL + "/admit"), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})},
		}},
	}
	c.must(c.admin.Create(t.Context(), m))
	t.Cleanup(func() { _ = c.admin.Delete(context.Background(), m) })
	of := func(o *check.Options) { o.Domain, o.Namespace = "old.example.com", "default" }
	c.want("webhook", "certificate", check.Failed, []string{"as " + server.Listener.Addr().String() + " serves it) expired at"}, of)
	c.want("webhook", "CA bundle", check.Failed, []string{"the authority expired at"}, of)

	// From outside it is not known whether it is the webhook that answers under
	// another name; in the cluster it is.
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	c.must(err)
	m.Webhooks[0].ClientConfig.URL = new("https://localhost:" + port + "/admit")
	c.must(c.admin.Update(t.Context(), m))
	c.want("webhook", "certificate", check.Skipped, []string{"localhost:" + port + " has a certificate of another name", "helm test"}, of)
	c.inCluster()
	c.want("webhook", "certificate", check.Failed, []string{"API servers do not trust it", "localhost"}, of)
}

// inCluster has this process look as one in a Pod.
func (c *cluster) inCluster() {
	c.Helper()
	server, err := url.Parse(c.cp.AdminConfig().Host)
	c.must(err)
	c.Setenv("KUBERNETES_SERVICE_HOST", server.Hostname())
	c.Setenv("KUBERNETES_SERVICE_PORT", server.Port())
}

// TestCheckOfAConfinedInstallation: without rights in the cluster, and asked by
// somebody who has none either.
func TestCheckOfAConfinedInstallation(t *testing.T) {
	c := newCluster(t)
	c.installCRDs()
	c.namespace, c.shop = rigtest.Namespace(t), rigtest.Namespace(t)
	c.must(c.admin.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "dogear-settings"},
		Data:       map[string]string{"settings.yaml": fmt.Sprintf("namespaces: [%s]\n", c.shop)},
	}))
	c.deployment("controller")
	c.endpoint = newEndpoint(c)
	own := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"create", "get", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update"}},
	}
	there := []rbacv1.PolicyRule{
		{APIGroups: []string{"dogear.dev"}, Resources: []string{"handlersets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{"dogear.dev"}, Resources: []string{"handlersets/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get"}},
		{APIGroups: []string{"test.dogear.dev"}, Resources: []string{"stricts"}, Verbs: []string{"get", "list", "watch", "patch"}},
	}
	account, err := c.cp.ServiceAccountConfig(t.Context(), c.namespace, "dogear-controller", rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{c.namespace: own, c.shop: there}})
	c.must(err)
	settings := config.Default()
	settings.Namespace, settings.Namespaces = c.namespace, []string{c.shop}
	settings.MetricsAddress, settings.HealthAddress, settings.GracePeriod = "", "", time.Second
	service, err := sets.New(sets.Options{Settings: settings, Config: account, Log: rigtest.Log(t)})
	c.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.shop, Name: "stricts"}}
	c.must(yaml.UnmarshalStrict([]byte(fmt.Sprintf(`
resource: {group: test.dogear.dev, version: v1, resource: stricts}
handlers: [{id: h, causes: [Create, Delete], http: {service: {name: %s, port: %d}, plaintext: true}}]
`, c.endpoint.name, c.endpoint.port)), &s.Spec))
	c.must(c.admin.Create(t.Context(), s))
	t.Cleanup(func() { c.dropLater(s) })

	// As the chart's ServiceAccount for 'helm test'.
	read := []string{"get", "list"}
	tester, err := c.cp.ServiceAccountConfig(t.Context(), c.namespace, "dogear-check", rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{
		c.namespace: {
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: read},
			{APIGroups: []string{""}, Resources: []string{"pods", "configmaps", "services"}, Verbs: read},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: read},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"localsubjectaccessreviews"}, Verbs: []string{"create"}},
		},
		c.shop: {
			{APIGroups: []string{"dogear.dev"}, Resources: []string{"handlersets"}, Verbs: read},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"localsubjectaccessreviews"}, Verbs: []string{"create"}},
		},
	}})
	c.must(err)
	of := func(o *check.Options) { o.Config, o.Namespace = tester, c.namespace }
	for _, name := range []string{"controller", "resources", "endpoints"} {
		c.want("rights", name, check.OK, nil, of)
	}
	c.want("controller", "sets", check.OK, []string{"1 set in force"}, of)
	c.want("installation", "found", check.OK, []string{"for the namespaces " + c.shop}, of)
	r := c.report(of)
	if !r.OK() || r.Summary.Warnings > 0 {
		t.Errorf("%+v", r)
	}
	if err := c.wanted(r, "webhook", "stamps", check.Skipped); err != nil {
		t.Error(err)
	}
	c.outOfPlace(of)
	_, err = c.cp.ServiceAccountConfig(t.Context(), c.namespace, "dogear-controller", rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{c.namespace: own, c.shop: there[:4]}})
	c.must(err)
	c.want("rights", "resources", check.Failed, []string{"get, list, watch, patch stricts.test.dogear.dev in namespace " + c.shop, "dogear rbac stricts.test.dogear.dev --namespace-role=" + c.shop}, of)
	_, err = c.cp.ServiceAccountConfig(t.Context(), c.namespace, "dogear-controller", rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{c.namespace: own, c.shop: there}})
	c.must(err)
}

// unpublish removes the webhook configurations that another test has left.
func (c *cluster) unpublish() {
	c.Helper()
	meta := metav1.ObjectMeta{Name: configuration.Name}
	c.drop(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta}, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta})
}

// outOfPlace: what an installation that is confined to some namespaces does not
// look at, and what it has left of the time when it was in the whole cluster.
func (c *cluster) outOfPlace(of func(*check.Options)) {
	c.want("controller", "warnings of sets", check.OK, nil, of)
	admin := func(o *check.Options) { o.Namespace = c.namespace }
	everywhere := &v1alpha1.ClusterHandlerSet{ObjectMeta: metav1.ObjectMeta{Name: "everywhere"}}
	elsewhere := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "elsewhere"}}
	another := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "another"}}
	left := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "left"}}
	spec := v1alpha1.HandlerSetSpec{
		Resource: v1alpha1.Resource{Version: "v1", Resource: "configmaps"},
		Defaults: &v1alpha1.Defaults{Computed: []v1alpha1.ComputedDefault{{Path: "data.a", Expression: "'b'"}}},
	}
	everywhere.Spec, elsewhere.Spec, another.Spec, left.Spec = spec, spec, spec, spec
	for _, o := range []client.Object{everywhere, elsewhere, another, left} {
		c.must(c.admin.Create(c.Context(), o))
	}
	another.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "InForce", LastTransitionTime: metav1.Now()}}
	c.must(c.admin.Status().Update(c.Context(), another))
	left.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: uninstall.Uninstalled, LastTransitionTime: metav1.Now()}}
	c.must(c.admin.Status().Update(c.Context(), left))
	texts := []string{"3 sets at which no controller looks", "ClusterHandlerSet everywhere: nobody looks at it", "HandlerSet " + c.namespace + "/elsewhere: nobody", "HandlerSet " + c.namespace + "/left: nobody"}
	c.want("controller", "warnings of sets", check.Warning, texts, admin)
	c.drop(everywhere, elsewhere, another, left)
	c.want("controller", "warnings of sets", check.OK, nil, admin)

	leading := func(namespace string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: configuration.Name},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "sets.dogear.dev", FailurePolicy: new(admissionregistrationv1.Ignore), SideEffects: new(admissionregistrationv1.SideEffectClassNone),
				AdmissionReviewVersions: []string{"v1"},
				ClientConfig:            admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: "gone"}},
			}},
		}
	}
	c.unpublish()
	others := leading(c.shop)
	c.must(c.admin.Create(c.Context(), others))
	c.want("webhook", "configurations", check.Skipped, []string{"no webhook"}, admin)
	c.drop(others)
	own := leading(c.namespace)
	c.must(c.admin.Create(c.Context(), own))
	c.want("webhook", "configurations", check.Failed, []string{"dogear.dev leads to namespace " + c.namespace, "works in " + c.shop + " alone", "namespaced.enabled=false"}, admin)
	c.drop(own)
}

// dropLater deletes an object at the end of a test, while the service runs.
func (c *cluster) dropLater(o client.Object) {
	ctx := context.Background()
	if err := c.admin.Delete(ctx, o); err != nil {
		c.Error(err)
	}
	deadline := time.Now().Add(settle)
	for c.admin.Get(ctx, client.ObjectKeyFromObject(o), o) == nil {
		if time.Now().After(deadline) {
			c.Fatalf("%s is still there", o.GetName())
		}
		time.Sleep(50 * time.Millisecond)
	}
}
