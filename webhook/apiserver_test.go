package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// mark is the annotation that the admitter of these tests adds.
const mark = "test.dogear.dev/mark"

// markAll names the operation and the subresource in the mark.
var markAll = AdmitterFunc(func(_ context.Context, r *admissionv1.AdmissionRequest) Answer {
	patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/annotations","value":{%q:%q}}]`, mark, string(r.Operation)+"/"+r.SubResource)
	return Answer{Response: &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(patch)}, Decision: "marked"}
})

// installed is a webhook that a real API server calls for one namespace.
type installed struct {
	*Publisher
	server    *Server
	manager   *cert.Manager
	metrics   *Metrics
	admin     client.Client
	namespace string
	own       string // the user whose requests are not sent
}

// install starts a server, publishes its configuration, and waits until the
// API server calls it.
func install(t *testing.T) *installed {
	t.Helper()
	admin, namespace := rigtest.Client(t), rigtest.Namespace(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i := &installed{admin: admin, namespace: namespace, own: "system:serviceaccount:" + namespace + ":own"}
	i.manager = &cert.Manager{
		Client: admin, Secret: types.NamespacedName{Namespace: namespace, Name: "tls"}, Names: []string{"127.0.0.1"},
		Policy: cert.Policy{Overlap: 3 * time.Second},
	}
	source := cert.FromSecret(admin, i.manager.Secret)
	source.Interval = 20 * time.Millisecond
	if i.metrics, err = NewMetrics(prometheus.NewRegistry(), source.NotAfter); err != nil {
		t.Fatal(err)
	}
	i.server = newServer(t, ServerOptions{Listener: listener, Source: source, Admitter: markAll, Metrics: i.metrics, LameDuck: -1})
	i.Publisher = &Publisher{Client: admin, Build: func(ctx context.Context) (*configuration, error) {
		return i.build(ctx, "https://"+listener.Addr().String()+"/admit")
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- i.server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return i
}

func (i *installed) build(ctx context.Context, url string) (*configuration, error) {
	bundle, err := i.manager.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: i.namespace}}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	return Configuration([]Rule{
		{Resource: configMaps, Namespaced: true, NamespaceSelector: only},
		{Resource: services, Namespaced: true, NamespaceSelector: only},
	}, ConfigOptions{
		Name: i.namespace, Domain: "dogear.dev", URL: url, CABundle: bundle.CABundle(),
		ServiceAccounts: []string{i.own}, TimeoutSeconds: 10, // this machine may be busy
	})
}

// publish publishes and waits until the API server calls the webhook.
func (i *installed) publish(t *testing.T) {
	t.Helper()
	if err := i.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	rigtest.Eventually(t, time.Minute, func() error {
		if got := i.create(t, i.admin, nil); got != "CREATE/" {
			return fmt.Errorf("a new object has the mark %q", got)
		}
		return nil
	})
}

func (i *installed) configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, GenerateName: "a-"}, Data: data}
}

// create returns the mark that a new object got.
func (i *installed) create(t *testing.T, c client.Client, data map[string]string) string {
	t.Helper()
	object := i.configMap(data)
	if err := c.Create(t.Context(), object); err != nil {
		t.Error(err)
	}
	return object.Annotations[mark]
}

func (i *installed) live(t *testing.T) *configuration {
	t.Helper()
	c := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := i.admin.Get(t.Context(), client.ObjectKey{Name: i.namespace}, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAPIServerTakesTheConfigurationAsItIs(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.publish(t)
	before := i.live(t)
	if err := i.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := i.live(t); after.ResourceVersion != before.ResourceVersion {
		t.Error("what the API server stores is taken for drift")
	}
}

func TestAPIServerCallsForSubresourcesAndLargeObjects(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.publish(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "a"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"},
	}
	if err := i.admin.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	service.Status.Conditions = []metav1.Condition{{Type: "A", Status: "True", Reason: "A", LastTransitionTime: metav1.Now()}}
	if err := i.admin.Status().Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if got := service.Annotations[mark]; got != "UPDATE/status" {
		t.Errorf("a write to /status left the mark %q", got)
	}

	large := i.configMap(map[string]string{"a": strings.Repeat("<", 1000<<10)}) // 12 MB as a review of an update
	if err := i.admin.Create(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	large.Data["b"] = "changed"
	if err := i.admin.Update(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	if got := large.Annotations[mark]; got != "UPDATE/" {
		t.Errorf("the update of a large object left the mark %q", got)
	}
}

func TestAPIServerLeavesTheOwnAccountOut(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.publish(t)
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}
	for account, want := range map[string]string{"own": "", "other": "CREATE/"} {
		config, err := rigtest.ControlPlane(t).ServiceAccountConfig(t.Context(), i.namespace, account, rig.Rights{
			Namespaced: map[string][]rbacv1.PolicyRule{i.namespace: {rule}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := i.create(t, c, nil); got != want {
			t.Errorf("an object of %q has the mark %q, want %q", account, got, want)
		}
	}
}

func TestAPIServerTriesAgainWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.publish(t)
	i.server.refusing.Store(true)
	var group sync.WaitGroup
	group.Go(func() {
		if got := i.create(t, i.admin, nil); got != "CREATE/" {
			t.Errorf("an object that met a stopping replica has the mark %q", got)
		}
	})
	refused := i.metrics.requests.WithLabelValues("unknown", DecisionDraining)
	waitFor(t, "a refusal", func() bool { return testutil.ToFloat64(refused) > 0 })
	i.server.refusing.Store(false)
	group.Wait()
}

// No object passes unmarked while authority and leaf are rotated. Each request
// comes on a new connection, so that each sees the certificate of its time.
func TestAPIServerTrustsThroughARotation(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.server.stopping.Store(true)
	past := time.Now().Add(-300 * 24 * time.Hour)
	i.manager.Clock = func() time.Time { return past }
	old, err := i.manager.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i.manager.Clock = nil // the authority is due now, its leaf long expired
	i.publish(t)
	ctx, cancel := context.WithCancel(t.Context())
	var created int
	var group sync.WaitGroup
	group.Go(func() {
		for ; ctx.Err() == nil; created++ {
			if got := i.create(t, i.admin, nil); got != "CREATE/" {
				t.Errorf("object %d has the mark %q", created, got)
				return
			}
		}
	})
	var rotated *cert.Bundle
	rigtest.Eventually(t, time.Minute, func() error {
		if err := i.Publish(t.Context()); err != nil {
			return err
		}
		if rotated, err = i.manager.Ensure(t.Context()); err != nil {
			return err
		}
		served, err := i.server.options.Source.GetCertificate(nil)
		if err != nil {
			return err
		}
		if rotated.CA.Certificate.Equal(old.CA.Certificate) || !served.Leaf.Equal(rotated.Leaf.Certificate) {
			return errors.New("the leaf of the new authority is not served yet")
		}
		return nil
	})
	i.publish(t)
	cancel()
	group.Wait()
	if created < 3 {
		t.Errorf("%d objects were created during the rotation", created)
	}
}
