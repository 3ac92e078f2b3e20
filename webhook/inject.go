package webhook

import (
	"maps"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// injected returns the bundle that an injector keeps in a configuration, of
// which bundles are all; nil: none does, or it has not done so yet. To write
// another one would be a fight with it, and an empty one a gap in trust.
func injected(have, want metav1.Object, bundles [][]byte) []byte {
	from := want.GetAnnotations()[InjectAnnotation]
	if from == "" || have.GetAnnotations()[InjectAnnotation] != from {
		return nil
	}
	for _, bundle := range bundles {
		if len(bundle) > 0 {
			return bundle
		}
	}
	return nil
}

// followInjector gives want the bundle that an injector keeps in have.
func followInjector(have, want *admissionregistrationv1.MutatingWebhookConfiguration) {
	var bundles [][]byte
	for i := range have.Webhooks {
		bundles = append(bundles, have.Webhooks[i].ClientConfig.CABundle)
	}
	if bundle := injected(have, want, bundles); bundle != nil {
		for i := range want.Webhooks {
			want.Webhooks[i].ClientConfig.CABundle = bundle
		}
	}
}

// followInjectorValidating is followInjector for the other kind.
func followInjectorValidating(have, want *admissionregistrationv1.ValidatingWebhookConfiguration) {
	var bundles [][]byte
	for i := range have.Webhooks {
		bundles = append(bundles, have.Webhooks[i].ClientConfig.CABundle)
	}
	if bundle := injected(have, want, bundles); bundle != nil {
		for i := range want.Webhooks {
			want.Webhooks[i].ClientConfig.CABundle = bundle
		}
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
