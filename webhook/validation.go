package webhook

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ValidationPath is where a [Validation] is served.
const ValidationPath = "/validate"

// Validation refuses objects of an operator's own kinds that cannot be used.
// While it does not answer they pass, and the operator says so in their status.
type Validation struct {
	// Admitter decides.
	Admitter Admitter
	// Rules say what is sent.
	Rules []admissionregistrationv1.RuleWithOperations
}

// Configuration generates the configuration of the API server for it.
func (v *Validation) Configuration(options ConfigOptions) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	options = options.WithDefaults()
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: options.metadata(),
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "validate." + options.Domain,
			ClientConfig:            options.clientConfigFor(ValidationPath),
			Rules:                   v.Rules,
			FailurePolicy:           new(admissionregistrationv1.Ignore),
			MatchPolicy:             new(admissionregistrationv1.Equivalent),
			NamespaceSelector:       &metav1.LabelSelector{},
			ObjectSelector:          &metav1.LabelSelector{},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          new(options.TimeoutSeconds),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, nil
}
