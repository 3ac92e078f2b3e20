package uninstall

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

// released makes a Deployment of the controller that a release has made.
func (b *bench) released(release string) *appsv1.Deployment {
	b.Helper()
	labels := map[string]string{installation.ComponentLabel: installation.ComponentController, installation.ReleaseLabel: release}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: release + "-controller", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "dogear", Image: "dogear"}}},
			},
		},
	}
	if err := b.admin.Create(b.Context(), d); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = b.admin.Delete(context.Background(), d) })
	return d
}

// Two releases in a namespace share the Lease, the ledger and the webhook
// configurations: the Job of one changes nothing while the other runs.
func TestTwoReleasesInANamespace(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	first, second := b.released("first"), b.released("second")
	_, err := b.uninstall(func(o *Options) { o.Release = "second" })
	if err == nil || !strings.Contains(err.Error(), `first-controller of release "first" needs what would be removed, too`) || !strings.Contains(err.Error(), "helm uninstall --no-hooks") {
		t.Errorf("got %v", err)
	}
	if b.held(strict) != 1 || len(b.own()) != 5 || b.replicasOf(first) != 1 || b.replicasOf(second) != 1 {
		t.Error("something was changed")
	}
	for _, c := range b.configurations() {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			t.Error(err)
		}
	}
	if err := b.admin.Patch(t.Context(), first, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`))); err != nil {
		t.Fatal(err)
	}
	result := b.must(func(o *Options) { o.Release = "second" })
	if have := strings.Join(result.Stopped, " "); have != b.namespace+"/second-controller" || b.held(strict) > 0 {
		t.Errorf("stopped %s", have)
	}
}

// Without a release, all go: so an administrator removes what is there.
func TestAllReleasesInANamespace(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	b.released("first")
	b.released("second")
	result := b.must()
	if have := strings.Join(result.Stopped, " "); have != b.namespace+"/first-controller "+b.namespace+"/second-controller" {
		t.Errorf("stopped %s", have)
	}
}

// A step that is taken again looks at Deployments anew: each is stopped once, and
// whoever scales one up in between is told of.
func TestStoppingIsTriedAgain(t *testing.T) {
	for name, scaledUp := range map[string]bool{"nobody else": false, "scaled up in between": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.installed(strict)
			b.many(strict, 1)
			d := b.released("only")
			scaled, lost := 0, false
			config := b.wired(func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
				switch {
				case req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/scale"):
					if scaled++; scaled == 1 && !scaledUp {
						if reply, err := pass.RoundTrip(req); err == nil { // it is done, but nobody hears of it
							_ = reply.Body.Close()
						}
						return nil, errors.New("connection reset")
					}
				case scaled > 0 && !lost && strings.HasSuffix(req.URL.Path, "/pods"):
					lost = true
					if scaledUp {
						if err := b.admin.Patch(t.Context(), d.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`))); err != nil {
							t.Error(err)
						}
					}
					return nil, errors.New("connection reset")
				}
				return pass.RoundTrip(req)
			})
			result, err := b.uninstallAs(t.Context(), config)
			if want := b.namespace + "/only-controller"; strings.Join(result.Stopped, " ") != want || scaled != 1 || !lost {
				t.Errorf("stopped %q, %d times, want %s once", result.Stopped, scaled, want)
			}
			if scaledUp && (err == nil || !strings.Contains(err.Error(), "only-controller was scaled up again by somebody else") || b.held(strict) != 1) {
				t.Errorf("got %v", err)
			}
			if !scaledUp && (err != nil || b.held(strict) > 0) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// That nothing was changed is said only where it is so.
func TestAConfigurationThatCannotBeDeleted(t *testing.T) {
	for what, changed := range map[string]bool{"mutating": false, "validating": true} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.installed(strict)
			config := b.wired(func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
				if req.Method == http.MethodDelete && strings.Contains(req.URL.Path, "/"+what) {
					return answer(req, &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no"}), nil
				}
				return pass.RoundTrip(req)
			})
			result, err := b.uninstallAs(t.Context(), config)
			if err == nil || strings.Contains(err.Error(), "nothing was changed") == changed || len(result.Deleted) > 0 != changed {
				t.Errorf("got %v, deleted %v", err, result.Deleted)
			}
		})
	}
}

// Configurations that a confined run has deleted are not said to be left alone.
func TestConfigurationsOfAConfinedRun(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.leadsTo(b.namespace, "dogear-webhook")
	result := b.must(func(o *Options) { o.Namespaces = []string{b.namespace} })
	if strings.Contains(strings.Join(result.Notes, "\n"), "webhook configurations are left alone") {
		t.Errorf("got %q", result.Notes)
	}
	for _, c := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
		c.SetName(installation.Name)
		b.gone(c)
	}
}
