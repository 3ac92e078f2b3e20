package render

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// TestThereIsOneDogearInACluster: a second one is refused while the first is there,
// and not where only its webhook configuration is, or where both have namespaces.
func TestThereIsOneDogearInACluster(t *testing.T) {
	cp, admin, first := rigtest.ControlPlane(t), rigtest.Client(t), rigtest.Namespace(t)
	install := func(namespace string, args ...string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := cp.Helm(ctx, append([]string{"install", release, chart(t, "dogear"), "--dry-run=server", "--namespace", namespace}, args...)...)
		return err
	}
	accepted := func(name, namespace string, args ...string) {
		t.Helper()
		if err := install(namespace, args...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: first, Name: "first-webhook"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}
	none := admissionregistrationv1.SideEffectClassNone
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "dogear.dev"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "a.dogear.dev", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, // of no rules: it is never called
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: first, Name: service.Name}},
		}},
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), configuration); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	accepted("none is there", "second")
	for _, o := range []client.Object{service, configuration} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := install("second"); err == nil || !strings.Contains(err.Error(), "there is a Dogear in namespace "+first+" already, whose webhook is the Service first-webhook") {
		t.Errorf("a second one: %v", err)
	}
	accepted("the same one", first)
	accepted("one in namespaces", "second", "--set", "namespaced.enabled=true")
	accepted("one whose installer makes no roles", "second", "--set", "rbac.create=false")
	if err := admin.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	accepted("what the first has left", "second")
}
