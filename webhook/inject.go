package webhook

import (
	"maps"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InjectAnnotation has cert-manager's CA injector keep the CA bundles of a
// configuration: those of the Certificate that it names.
const InjectAnnotation = "cert-manager.io/inject-ca-from"

func (o ConfigOptions) metadata() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: o.Name, Labels: maps.Clone(o.Labels)}
	if o.InjectCAFrom != "" {
		m.Annotations = map[string]string{InjectAnnotation: o.InjectCAFrom}
	}
	return m
}

// ClientConfigs are how the API server reaches the webhooks of a configuration,
// be it mutating or validating; nothing of another object. They are not copied.
func ClientConfigs(configuration client.Object) (all []*admissionregistrationv1.WebhookClientConfig) {
	switch c := configuration.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			all = append(all, &c.Webhooks[i].ClientConfig)
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			all = append(all, &c.Webhooks[i].ClientConfig)
		}
	}
	return all
}

// injected returns the bundle that an injector keeps in a configuration; nil:
// none does, or it has not done so yet. To write another one would be a fight
// with it, and an empty one a gap in trust.
func injected(have, want client.Object) []byte {
	from := want.GetAnnotations()[InjectAnnotation]
	if from == "" || have.GetAnnotations()[InjectAnnotation] != from {
		return nil
	}
	for _, c := range ClientConfigs(have) {
		if len(c.CABundle) > 0 {
			return c.CABundle
		}
	}
	return nil
}

// followInjector gives want the bundle that an injector keeps in have, which is of
// the same kind.
func followInjector(have, want client.Object) {
	bundle := injected(have, want)
	if bundle == nil {
		return
	}
	for _, c := range ClientConfigs(want) {
		c.CABundle = bundle
	}
}

// sameInjection tells whether the same injector is asked, or none.
func sameInjection(have, want metav1.Object) bool {
	return have.GetAnnotations()[InjectAnnotation] == want.GetAnnotations()[InjectAnnotation]
}

// askInjector has the injector of want asked, and no other.
func askInjector(have, want metav1.Object) {
	annotations := maps.Clone(have.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, InjectAnnotation)
	if from := want.GetAnnotations()[InjectAnnotation]; from != "" {
		annotations[InjectAnnotation] = from
	}
	have.SetAnnotations(annotations)
}
