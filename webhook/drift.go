package webhook

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// upToDate tells whether the configuration in the cluster does what is wanted.
// Foreign labels and annotations don't count, nor do namespaces that somebody
// excluded besides: some clusters add such an expression to every webhook (AKS
// does), and to take it out would be a fight without an end.
func upToDate(have, want *admissionregistrationv1.MutatingWebhookConfiguration) bool {
	return hasLabels(have, want) && sameInjection(have, want) && slices.EqualFunc(have.Webhooks, want.Webhooks, sameWebhook)
}

// upToDateValidating is upToDate for the other kind.
func upToDateValidating(have, want *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	return hasLabels(have, want) && sameInjection(have, want) && slices.EqualFunc(have.Webhooks, want.Webhooks, sameValidatingWebhook)
}

func hasLabels(have, want metav1.Object) bool {
	for key, value := range want.GetLabels() {
		if got, ok := have.GetLabels()[key]; !ok || got != value {
			return false
		}
	}
	return true
}

func sameWebhook(have, want admissionregistrationv1.MutatingWebhook) bool {
	have.NamespaceSelector = orNarrower(have.NamespaceSelector, want.NamespaceSelector)
	return equality.Semantic.DeepEqual(have, want)
}

func sameValidatingWebhook(have, want admissionregistrationv1.ValidatingWebhook) bool {
	have.NamespaceSelector = orNarrower(have.NamespaceSelector, want.NamespaceSelector)
	return equality.Semantic.DeepEqual(have, want)
}

// orNarrower returns want for what only narrows it.
func orNarrower(have, want *metav1.LabelSelector) *metav1.LabelSelector {
	if have != nil && want != nil && narrows(have, want) {
		return want
	}
	return have
}

// narrows tells whether have is want and maybe more requirements.
func narrows(have, want *metav1.LabelSelector) bool {
	if !equality.Semantic.DeepEqual(have.MatchLabels, want.MatchLabels) {
		return false
	}
	for _, requirement := range want.MatchExpressions {
		same := func(other metav1.LabelSelectorRequirement) bool {
			return equality.Semantic.DeepEqual(requirement, other)
		}
		if !slices.ContainsFunc(have.MatchExpressions, same) {
			return false
		}
	}
	return true
}
