package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// Defaults are set at admission where the user wrote nothing, in a dry run as
// in earnest, and the handler sees them from the first. An object that has
// them all is not touched.
func TestSDKDefaultsAreSetAtAdmission(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	sizes := make(chan string, 9)
	b.start(func(r handler.Registry) {
		handler.Defaults(r, b.spec(certificateKind, "defaults", handler.Create), func(c *cmapi.Certificate, a handler.Admission) error {
			if c.Name == "panics" {
				panic("x")
			}
			if c.Name == "fails" {
				return errors.New("x")
			}
			c.Spec.Duration = &metav1.Duration{Duration: 48 * time.Hour}
			c.Spec.DNSNames = []string{"default.example.com"}
			if c.Spec.PrivateKey == nil {
				c.Spec.PrivateKey = &cmapi.CertificatePrivateKey{}
			}
			c.Spec.PrivateKey.RotationPolicy = cmapi.RotationPolicyAlways
			c.Labels = map[string]string{"defaulted": "yes", "by": "x"}
			return nil
		})
		handler.Register(r, b.spec(certificateKind, "myapp", handler.Create|handler.Update), func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
			seen.add(req.Info)
			sizes <- req.Object.Name + " " + fmt.Sprint(req.Object.Spec.Duration != nil)
			return handler.Result{}, nil
		})
	}, b.withWebhook())
	u := b.object(certificateKind, "one", kinds[0].body)
	u.SetLabels(map[string]string{"by": "user"})
	b.awaitWebhook(u)
	wanted := func(u *unstructured.Unstructured) error {
		spec := u.Object["spec"].(fields)
		labels := u.GetLabels()
		if spec["duration"] != "48h0m0s" || !same(spec["dnsNames"], []string{"a.example.com"}) ||
			!same(spec["privateKey"], fields{"rotationPolicy": "Always"}) || labels["defaulted"] != "yes" || labels["by"] != "user" {
			return fmt.Errorf("spec %v, labels %v", spec, labels)
		}
		return nil
	}
	dry := u.DeepCopy()
	if err := b.admin.Create(t.Context(), dry, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if err := wanted(dry); err != nil {
		t.Errorf("dry run: %v", err)
	}
	h := b.history(u)
	b.create(u)
	if err := wanted(b.get(u)); err != nil {
		t.Error(err)
	}
	if have := <-sizes; have != "one true" {
		t.Errorf("the handler saw %s", have)
	}
	b.await(u, "Succeeded")
	b.stays(u, &seen, 1)
	b.versions(h, 2)
	b.patch(u, `{"spec":{"duration":null}}`) // declared for Create alone
	b.awaitCalls(&seen, 2)
	b.await(u, "Succeeded")
	if b.get(u).Object["spec"].(fields)["duration"] != nil {
		t.Error("an update was defaulted")
	}
	for i, name := range []string{"fails", "panics"} {
		odd := b.create(b.object(certificateKind, name, kinds[0].body))
		b.awaitCalls(&seen, 3+i)
		if odd = b.await(odd, "Succeeded"); odd.Object["spec"].(fields)["duration"] != nil {
			t.Errorf("%s: spec %v", name, odd.Object["spec"])
		}
	}
}

// A dry run stores nothing, calls nobody and answers the same each time; nor
// does one more apply of what is there make a version.
func TestSDKDryRunsAndRepeatsChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	spec := b.spec(testKind("Widget"), "myapp", handler.Create|handler.Update|handler.Delete)
	spec.Diff = true
	b.start(one(spec, succeed(&seen)), b.withWebhook())
	u := b.widget("one")
	b.awaitWebhook(u)
	b.create(u)
	b.awaitCalls(&seen, 1)
	u = b.await(u, "Succeeded")
	b.quiet(u)
	version := b.get(u).GetResourceVersion()
	var first fields
	for range 3 {
		dry := b.get(u)
		if err := b.admin.Patch(t.Context(), dry, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":5}}`)), client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		dry.SetManagedFields(nil)
		if first == nil {
			first = dry.Object
		}
		if !same(dry.Object, first) {
			t.Errorf("two dry runs differ: %v, %v", dry.Object, first)
		}
		if err := b.admin.Patch(t.Context(), b.get(u), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":1}}`))); err != nil {
			t.Fatal(err)
		}
		if err := b.admin.Update(t.Context(), b.get(u)); err != nil {
			t.Fatal(err)
		}
		if err := b.admin.Delete(t.Context(), b.get(u), client.DryRunAll); err != nil {
			t.Fatal(err)
		}
	}
	b.stays(u, &seen, 1)
	if now := b.get(u).GetResourceVersion(); now != version {
		t.Errorf("version %s, want %s", now, version)
	}
}

// An object that was made while the webhook was down, and changed once it was
// up again, before the controller came to it, is no older object to be adopted.
func TestSDKAdoptIsLeftToTheController(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen calls
	adopting := b.spec(testKind("Widget"), "myapp", handler.Create|handler.Update)
	adopting.Existing = handler.AdoptExisting
	register := one(adopting, succeed(&seen))
	webhook := b.withWebhook()
	operator := b.start(register, webhook)
	b.awaitWebhook(b.widget("probe"))
	operator.stop()
	u := b.create(b.widget("one"))
	paused := b.create(b.paused(b.widget("two")))
	operator = b.start(register, webhook)
	b.awaitWebhook(b.widget("probe"))
	b.awaitCalls(&seen, 1)
	b.await(u, "Succeeded")
	b.resize(paused, 2) // the controller may not act yet
	operator.stop()
	b.start(register, webhook)
	b.patch(paused, `{"metadata":{"annotations":{"`+b.key("paused")+`":null}}}`)
	rigtest.Eventually(t, settle, func() error {
		if n := len(seen.all()); n != 2 {
			return fmt.Errorf("%d calls: the younger object counts as adopted; %s", n, b.ours(b.get(paused)))
		}
		return nil
	})
}

func (b *bench) paused(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetAnnotations(map[string]string{b.key("paused"): "true"})
	return u
}
