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
// be it for some namespaces only, and not where its webhook configuration alone is.
func TestThereIsOneDogearInACluster(t *testing.T) {
	admin, first := rigtest.Client(t), rigtest.Namespace(t)
	install, accepted := installs(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: first, Name: "first-webhook", Labels: map[string]string{"app.kubernetes.io/instance": release}},
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
	there := "there is a Dogear in namespace " + first + " already, whose webhook is the Service first-webhook"
	for name, test := range map[string]struct {
		release, namespace string
		args               []string
		want               string
	}{
		"a second one":          {release, "second", nil, "and a cluster has one: uninstall that first"},
		"another release there": {"another", first, nil, "and a cluster has one: uninstall that first"},
		"one in namespaces":     {release, "second", []string{"--set", "namespaced.enabled=true"}, "and it is for the namespaces of this one, too: uninstall that first"},
	} {
		if err := install(test.release, test.namespace, test.args...); err == nil || !strings.Contains(err.Error(), there) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	accepted("the same one", first)
	accepted("one whose installer may not look", "second", "--set", "namespaced.enabled=true,crds.enabled=false")
	accepted("one whose installer makes no roles", "second", "--set", "rbac.create=false")
	if err := admin.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	accepted("what the first has left", "second")
}

// TestThereIsOneDogearInANamespace, of whichever kind.
func TestThereIsOneDogearInANamespace(t *testing.T) {
	admin, first := rigtest.Client(t), rigtest.Namespace(t)
	install, accepted := installs(t)
	for _, o := range rendered(t) {
		if o.GetKind() != "Deployment" {
			continue
		}
		o.SetNamespace(first)
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{"one of the cluster": nil, "one in namespaces": {"--set", "namespaced.enabled=true,crds.enabled=false"}} {
		want := "there is a Dogear in namespace " + first + " already, the release dogear with the Deployment dogear-controller, and a namespace has one: upgrade that"
		if err := install("another", first, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	accepted("the same one", first, "--take-ownership")
	accepted("one elsewhere", "second")
}

// installs returns what installs the chart as a dry run that sees the cluster: a
// release of a name, and the release of the other tests, which must be accepted.
func installs(t *testing.T) (install func(release, namespace string, args ...string) error, accepted func(name, namespace string, args ...string)) {
	t.Helper()
	cp := rigtest.ControlPlane(t)
	install = func(release, namespace string, args ...string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := cp.Helm(ctx, append([]string{"install", release, chart(t, "dogear"), "--dry-run=server", "--namespace", namespace}, args...)...)
		return err
	}
	return install, func(name, namespace string, args ...string) {
		t.Helper()
		if err := install(release, namespace, args...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
