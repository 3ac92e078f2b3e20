package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterHandlerSet declares handlers and defaults for a resource, in all
// namespaces or in those that it selects.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=chs,categories=dogear
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Resource",type=string,JSONPath=`.spec.resource.resource`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.resource.group`,priority=1
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="EndpointsHealthy")].status`
// +kubebuilder:printcolumn:name="Objects",type=integer,JSONPath=`.status.objects`
// +kubebuilder:printcolumn:name="Failing",type=integer,JSONPath=`.status.failing`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Endpoints",type=string,JSONPath=`.status.conditions[?(@.type=="EndpointsHealthy")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name is part of handler IDs: choose one of at most 63 characters"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.handlers) || self.spec.handlers.all(h, !has(h.http.service) || has(h.http.service.namespace))",message="a ClusterHandlerSet has no namespace of its own: set http.service.namespace"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.handlers) || self.spec.handlers.all(h, has(h.http.service) || ((!has(h.http.secretRef) || has(h.http.secretRef.namespace)) && (!has(h.http.caSecretRef) || has(h.http.caSecretRef.namespace)) && (!has(h.http.clientCertificateSecretRef) || has(h.http.clientCertificateSecretRef.namespace))))",message="with http.url there is no service whose namespace counts: set the namespace of secretRef, caSecretRef and clientCertificateSecretRef"
type ClusterHandlerSet struct {
	metav1.TypeMeta `json:",inline"`
	// Name is part of the handlers' IDs: <name>/<id>. At most 63 characters.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to do, for which objects.
	// +required
	Spec HandlerSetSpec `json:"spec"`
	// What Dogear has made of it. Written by Dogear only.
	// +optional
	Status HandlerSetStatus `json:"status,omitempty"`
}

// ClusterHandlerSetList is a list of ClusterHandlerSets.
//
// +kubebuilder:object:root=true
type ClusterHandlerSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterHandlerSet `json:"items"`
}

// HandlerSet declares handlers and defaults for a resource in its own
// namespace. It may name only Services and Secrets of that namespace, and only
// resources that the installation's settings allow (namespacedResources).
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=hs,categories=dogear
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Resource",type=string,JSONPath=`.spec.resource.resource`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.resource.group`,priority=1
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="EndpointsHealthy")].status`
// +kubebuilder:printcolumn:name="Objects",type=integer,JSONPath=`.status.objects`
// +kubebuilder:printcolumn:name="Failing",type=integer,JSONPath=`.status.failing`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Endpoints",type=string,JSONPath=`.status.conditions[?(@.type=="EndpointsHealthy")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name is part of handler IDs: choose one of at most 63 characters"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.match) || !has(self.spec.match.namespaceSelector)",message="a HandlerSet acts in its own namespace only: remove match.namespaceSelector, or use a ClusterHandlerSet"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.handlers) || self.spec.handlers.all(h, !has(h.http.service) || !has(h.http.service.namespace))",message="a HandlerSet calls only Services in its own namespace: remove http.service.namespace, or use a ClusterHandlerSet"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.handlers) || self.spec.handlers.all(h, (!has(h.http.secretRef) || !has(h.http.secretRef.namespace)) && (!has(h.http.caSecretRef) || !has(h.http.caSecretRef.namespace)) && (!has(h.http.clientCertificateSecretRef) || !has(h.http.clientCertificateSecretRef.namespace)))",message="a HandlerSet reads only Secrets in its own namespace: remove the namespace of secretRef, caSecretRef and clientCertificateSecretRef"
type HandlerSet struct {
	metav1.TypeMeta `json:",inline"`
	// Name and namespace are part of the handlers' IDs:
	// <namespace>/<name>/<id>. The name has at most 63 characters.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to do, for which objects.
	// +required
	Spec HandlerSetSpec `json:"spec"`
	// What Dogear has made of it. Written by Dogear only.
	// +optional
	Status HandlerSetStatus `json:"status,omitempty"`
}

// HandlerSetList is a list of HandlerSets.
//
// +kubebuilder:object:root=true
type HandlerSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HandlerSet `json:"items"`
}

// AnySet is a ClusterHandlerSet or a HandlerSet.
//
// +kubebuilder:object:generate=false
type AnySet interface {
	metav1.Object
	runtime.Object
	// Declared is the spec.
	Declared() *HandlerSetSpec
	// Observed is the status.
	Observed() *HandlerSetStatus
}

// Declared is the spec.
func (s *ClusterHandlerSet) Declared() *HandlerSetSpec { return &s.Spec }

// Observed is the status.
func (s *ClusterHandlerSet) Observed() *HandlerSetStatus { return &s.Status }

// Declared is the spec.
func (s *HandlerSet) Declared() *HandlerSetSpec { return &s.Spec }

// Observed is the status.
func (s *HandlerSet) Observed() *HandlerSetStatus { return &s.Status }

// HandlerID is the ID by which annotations, logs and metrics know a handler of
// a set: <set>/<id>, or <namespace>/<set>/<id> for a HandlerSet. Under .status
// payloads go by the short ID.
func HandlerID(set AnySet, id string) string {
	if set.GetNamespace() == "" {
		return set.GetName() + "/" + id
	}
	return set.GetNamespace() + "/" + set.GetName() + "/" + id
}
