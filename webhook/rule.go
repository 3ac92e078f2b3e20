package webhook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Rule asks for the admission requests of one resource.
type Rule struct {
	// Resource is what is handled. Requests for its other versions come too,
	// converted to this one.
	Resource schema.GroupVersionResource
	// Namespaced tells the resource's scope.
	Namespaced bool
	// Subresources whose writes are covered too. Nil means [SubresourcesFor] the
	// resource, an empty list none.
	Subresources []string
	// LabelSelector bounds the objects; nil means all. A request is sent if the
	// new or the old object matches.
	LabelSelector *metav1.LabelSelector
	// NamespaceSelector bounds the namespaces further; nil means all that
	// [Configuration] does not exclude.
	NamespaceSelector *metav1.LabelSelector
	// Operations are CREATE, UPDATE or both, which is the default.
	Operations []admissionregistrationv1.OperationType
}

// kept lists the built-in resources whose subresources keep what a write
// changes in annotations, read from the strategies of Kubernetes 1.37. The
// newer kinds, and every CRD, drop it.
var kept = map[schema.GroupResource][]string{
	{Resource: "namespaces"}:             {"finalize", "status"},
	{Resource: "nodes"}:                  {"status"},
	{Resource: "persistentvolumeclaims"}: {"status"},
	{Resource: "persistentvolumes"}:      {"status"},
	{Resource: "pods"}:                   {"status"},
	{Resource: "replicationcontrollers"}: {"status"},
	{Resource: "resourcequotas"}:         {"status"},
	{Resource: "services"}:               {"status"},

	{Group: "apps", Resource: "daemonsets"}:                                {"status"},
	{Group: "apps", Resource: "deployments"}:                               {"status"},
	{Group: "apps", Resource: "replicasets"}:                               {"status"},
	{Group: "apps", Resource: "statefulsets"}:                              {"status"},
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}:           {"status"},
	{Group: "batch", Resource: "cronjobs"}:                                 {"status"},
	{Group: "batch", Resource: "jobs"}:                                     {"status"},
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: {"approval", "status"},
	{Group: "networking.k8s.io", Resource: "ingresses"}:                    {"status"},
	{Group: "policy", Resource: "poddisruptionbudgets"}:                    {"status"},
}

// SubresourcesFor returns the subresources of a resource by which a user can
// change annotations, sorted; none for a resource that is not built in.
func SubresourcesFor(resource schema.GroupResource) []string {
	return slices.Clone(kept[resource])
}

// ErrRule is wrapped by every error about a [Rule] that cannot be generated.
var ErrRule = errors.New("webhook rule")

// withDefaults returns the rule complete and sorted.
func (r Rule) withDefaults() Rule {
	if r.Subresources == nil {
		r.Subresources = SubresourcesFor(r.Resource.GroupResource())
	}
	if len(r.Operations) == 0 {
		r.Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	}
	r.Subresources = sortedSet(r.Subresources)
	r.Operations = sortedSet(r.Operations)
	return r
}

func (r Rule) validate() error {
	if r.Resource.Resource == "" || r.Resource.Version == "" {
		return fmt.Errorf("%w: %q lacks a resource or a version", ErrRule, r.Resource)
	}
	if strings.ContainsAny(r.Resource.String()+strings.Join(r.Subresources, ""), "*") {
		return fmt.Errorf("%w: %q has a wildcard, name what is handled", ErrRule, r.Resource)
	}
	for _, operation := range r.Operations {
		if operation != admissionregistrationv1.Create && operation != admissionregistrationv1.Update {
			return fmt.Errorf("%w: operation %q of %q, only CREATE and UPDATE are handled", ErrRule, operation, r.Resource)
		}
	}
	for _, selector := range []*metav1.LabelSelector{r.LabelSelector, r.NamespaceSelector} {
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			return fmt.Errorf("%w: selector of %q: %w", ErrRule, r.Resource, err)
		}
	}
	return nil
}

// merge makes one rule of two for the same resource. Selectors can't be or-ed,
// so where two differ there is none.
func (r Rule) merge(other Rule) Rule {
	r.Subresources = sortedSet(append(slices.Clone(r.Subresources), other.Subresources...))
	r.Operations = sortedSet(append(slices.Clone(r.Operations), other.Operations...))
	if !equality.Semantic.DeepEqual(r.LabelSelector, other.LabelSelector) {
		r.LabelSelector = nil
	}
	if !equality.Semantic.DeepEqual(r.NamespaceSelector, other.NamespaceSelector) {
		r.NamespaceSelector = nil
	}
	return r
}

func sortedSet[S ~[]E, E ~string](s S) S {
	s = slices.Clone(s)
	slices.Sort(s)
	return slices.Compact(s)
}
