package chart

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/webhook"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// issue makes certificates as cert-manager puts them into a Secret.
func (b *bench) issue(names []string) map[string][]byte {
	b.Helper()
	m := &cert.Manager{Client: fake.NewClientBuilder().Build(), Secret: types.NamespacedName{Namespace: namespace, Name: "issued"}, Names: names}
	made, err := m.Ensure(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	data, err := made.Data()
	if err != nil {
		b.Fatal(err)
	}
	delete(data, cert.KeyCAKeys)
	return data
}

func (b *bench) put(name string, data map[string][]byte) {
	b.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeTLS}
	err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(secret), secret)
	secret.Data = data
	if err == nil {
		err = b.admin.Update(b.Context(), secret)
	} else {
		err = b.admin.Create(b.Context(), secret)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// inject writes a bundle into the configurations, as cert-manager's CA injector
// does for what has its annotation.
func (b *bench) inject(bundle []byte) {
	b.Helper()
	mutating, validating := b.configurations()
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig.CABundle = bundle
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle = bundle
	}
	for _, o := range []client.Object{mutating, validating} {
		if err := b.admin.Update(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bench) configurations() (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration) {
	b.Helper()
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	for _, o := range []client.Object{mutating, validating} {
		if err := b.admin.Get(b.Context(), client.ObjectKey{Name: "dogear.dev"}, o); err != nil {
			b.Fatal(err)
		}
	}
	return mutating, validating
}

// trusts is an error unless all webhooks have just this bundle.
func (b *bench) trusts(bundle []byte) error {
	mutating, validating := b.configurations()
	have := [][]byte{}
	for _, w := range mutating.Webhooks {
		have = append(have, w.ClientConfig.CABundle)
	}
	for _, w := range validating.Webhooks {
		have = append(have, w.ClientConfig.CABundle)
	}
	for _, text := range have {
		if !bytes.Equal(text, bundle) {
			return fmt.Errorf("another bundle is in the configuration:\n%s", text)
		}
	}
	if len(mutating.Webhooks) == 0 {
		return errors.New("no webhook is in the configuration")
	}
	return nil
}

// stamps is an error unless the API server calls the webhook.
func (b *bench) stamps() error {
	u := b.newCertificate("probe")
	if err := b.admin.Create(b.Context(), u, client.DryRunAll); err != nil {
		return err
	}
	if stateOf(u) != "Pending" {
		return fmt.Errorf("no stamp: %v", u.GetAnnotations())
	}
	return nil
}

// TestCertificatesOfCertManager: the chart asks for a Certificate, Pods serve
// what is in its Secret, and the bundle is the injector's. The test does what
// cert-manager's own controllers would do.
func TestCertificatesOfCertManager(t *testing.T) {
	b := newBench(t)
	const secret = "dogear-webhook-tls"
	installed := make(chan error, 1)
	go func() {
		_, err := b.tryHelm("install", release, b.chart(), "--wait", "--timeout", helmTimeout, handles, "--set=webhook.certificate.mode=cert-manager")
		installed <- err
	}()
	asked := &cmapi.Certificate{}
	b.eventually(func() error {
		all := &cmapi.CertificateList{}
		if err := b.admin.List(t.Context(), all, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range all.Items {
			if all.Items[i].Spec.SecretName == secret {
				asked = &all.Items[i]
				return nil
			}
		}
		return fmt.Errorf("no Certificate for the Secret %s among %d", secret, len(all.Items))
	})
	if want := cert.ServiceNames(namespace, "dogear-webhook")[0]; !slices.Contains(asked.Spec.DNSNames, want) {
		t.Errorf("the Certificate is for %v, not for %s", asked.Spec.DNSNames, want)
	}
	first := b.issue(asked.Spec.DNSNames)
	b.put(secret, first)
	if err := <-installed; err != nil {
		t.Fatal(err)
	}
	e := b.endpoint("hook", nil)
	s := b.set("certificates", "handlers:\n- {id: myapp, causes: [Create], http: "+e.http()+"}\n")
	b.eventually(b.stamps) // by the ca.crt of the Secret, before the injector has come
	mutating, validating := b.configurations()
	for _, o := range []client.Object{mutating, validating} {
		if from := o.GetAnnotations()[webhook.InjectAnnotation]; from != namespace+"/"+asked.Name {
			t.Errorf("%T: the injector is told %q, want %s/%s", o, from, namespace, asked.Name)
		}
	}
	if err := b.trusts(first[cert.KeyCAs]); err != nil {
		t.Error(err)
	}

	// The authority changes: cert-manager renews, its injector follows.
	second := b.issue(asked.Spec.DNSNames)
	both := slices.Concat(first[cert.KeyCAs], second[cert.KeyCAs])
	b.inject(both)
	b.put(secret, second)
	b.eventually(func() error { return b.servesData(second) })
	b.inject(second[cert.KeyCAs])
	b.eventually(b.stamps)

	// What the controller publishes anew leaves the bundle as it is.
	s.Spec.Match = &v1alpha1.Match{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}
	if err := b.admin.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error {
		if mutating, _ := b.configurations(); mutating.Webhooks[0].ObjectSelector.MatchLabels["team"] != "a" {
			return errors.New("the configuration does not follow the set")
		}
		return nil
	})
	if err := b.trusts(second[cert.KeyCAs]); err != nil {
		t.Error(err)
	}
	b.webhookReads("secrets", 0)
}

// TestCertificatesOfTheUser: a Secret of the user is served and followed.
func TestCertificatesOfTheUser(t *testing.T) {
	b := newBench(t)
	names := cert.ServiceNames(namespace, "dogear-webhook")
	first := b.issue(names)
	authority := first[cert.KeyCAs]
	b.put("mine", map[string][]byte{"tls.crt": first["tls.crt"], "tls.key": first["tls.key"]})
	b.install("--set=webhook.certificate.mode=secret,webhook.certificate.secretName=mine",
		"--set-string=webhook.certificate.caBundle="+string(authority))
	e := b.endpoint("hook", nil)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create], http: "+e.http()+"}\n")
	b.eventually(b.stamps)
	if err := b.trusts(authority); err != nil {
		t.Error(err)
	}
	second := b.issue(names)
	b.put("mine", second) // its ca.crt counts from now on
	b.upgrade("--set=webhook.certificate.mode=secret,webhook.certificate.secretName=mine")
	b.eventually(func() error { return b.trusts(second[cert.KeyCAs]) })
	b.eventually(b.stamps)

	// Back to certificates of its own.
	b.upgrade()
	b.eventually(func() error {
		_, bundle := b.stored()
		return b.trusts(bundle.CABundle())
	})
	b.eventually(b.stamps)
}

// servesData is an error unless the Service leads to a certificate of the Secret's.
func (b *bench) servesData(data map[string][]byte) error {
	authorities, err := cert.ParseCABundle(data[cert.KeyCAs])
	if err != nil {
		return err
	}
	return b.serves(&cert.Bundle{CA: cert.Pair{Certificate: authorities[0]}})
}

// webhookReads checks how often the webhook's account has read a resource.
func (b *bench) webhookReads(resource string, want int) {
	b.Helper()
	n := 0
	for _, e := range b.audited() {
		if e.account() == "dogear-webhook" && e.ObjectRef.Resource == resource {
			n++
		}
	}
	if n != want {
		b.Errorf("the webhook has asked for %s %d times, want %d", resource, n, want)
	}
}
