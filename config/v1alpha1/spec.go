package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// HandlerSetSpec says what to do for which objects.
//
// +kubebuilder:validation:XValidation:rule="has(self.defaults) || (has(self.handlers) && size(self.handlers) > 0)",message="the set does nothing: declare handlers, defaults or both"
type HandlerSetSpec struct {
	// The resource whose objects are handled. Group and resource cannot be
	// changed; the version can.
	// +required
	Resource Resource `json:"resource"`
	// Which of its objects. Default: all. With handlers for Delete leave out what
	// their endpoints need, such as their own Services: its deletion would wait
	// for itself.
	// +optional
	Match *Match `json:"match,omitempty"`
	// What is filled in at admission.
	// +optional
	Defaults *Defaults `json:"defaults,omitempty"`
	// What happens to objects that are older than a handler: Handle runs the
	// handler on them, as Create; Adopt marks them as handled without a run,
	// and their next change counts.
	// +optional
	// +kubebuilder:default=Handle
	Existing Existing `json:"existing,omitempty"`
	// Suspends the handlers: none is called while it is true. Changes are
	// noted, and handled afterwards; objects with a Delete handler stay in
	// deletion until then. Defaults are filled in all the same.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// The handlers. Those that are due on an object run in this order, each
	// seeing the payloads of those before it.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(h, self.exists_one(g, g.id == h.id))",message="two handlers have the same id: each needs its own"
	Handlers []Handler `json:"handlers,omitempty"`
}

// Resource names a resource of the API server.
//
// +kubebuilder:validation:XValidation:rule="self.group == oldSelf.group && self.resource == oldSelf.resource",message="group and resource cannot be changed: delete the set and create it anew"
type Resource struct {
	// The API group; empty for the core group.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="want an API group without the version, such as cert-manager.io, or \"\" for the core group"
	Group string `json:"group"`
	// The version in which objects are read and written, such as v1.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="want a version without the group, such as v1 or v1beta1"
	Version string `json:"version"`
	// The plural name of the resource in lower case, such as certificates.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="want the plural name in lower case and without a subresource, such as certificates: see kubectl api-resources"
	Resource string `json:"resource"`
}

// Match selects objects; all that is set must hold.
type Match struct {
	// Selects namespaces by their labels. Not in a HandlerSet. Resources that
	// have no namespace are not asked.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Selects objects by their labels.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// Selects objects by their annotations.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=32
	Annotations []AnnotationMatch `json:"annotations,omitempty"`
	// CEL expressions that must be true. Each sees object, without metadata
	// other than name, namespace, labels and annotations, and without status:
	// what is selected must not change by itself. One that fails on an object,
	// as by a missing field, does not select it: use has().
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Conditions []Condition `json:"conditions,omitempty"`
}

// AnnotationMatch is a condition on an annotation. With neither value nor
// absent, the annotation must be there, with any value.
//
// +kubebuilder:validation:XValidation:rule="!has(self.value) || !has(self.absent) || !self.absent",message="an annotation that is absent has no value: set value or absent, not both"
type AnnotationMatch struct {
	// The annotation's key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// The value that it must have, exactly.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`
	// Wants the object not to have the annotation.
	// +optional
	Absent bool `json:"absent,omitempty"`
}

// Condition is a CEL expression with a name.
type Condition struct {
	// Names the condition in messages.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="want letters, digits and -_. with a letter or digit at both ends"
	Name string `json:"name"`
	// The expression; its value must be a bool. For example
	// "object.spec.dnsNames.size() > 0".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}

// Existing says what happens to older objects.
//
// +kubebuilder:validation:Enum=Handle;Adopt
type Existing string

// What happens to older objects.
const (
	ExistingHandle Existing = "Handle"
	ExistingAdopt  Existing = "Adopt"
)

// Defaults says what is filled in at admission, and only where the object has
// nothing: what its user wrote stays, also if it is "", 0 or false. A set with
// an earlier name goes first, ClusterHandlerSets before HandlerSets; in a set,
// values go before computed.
//
// +kubebuilder:validation:XValidation:rule="has(self.values) || (has(self.computed) && size(self.computed) > 0)",message="the defaults fill in nothing: set values, computed or both"
type Defaults struct {
	// When: at Create, or at Create and Update. Leave Update out for fields
	// that cannot be changed later.
	// +optional
	// +listType=set
	// +kubebuilder:default={Create}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="'Create' in self",message="defaults are filled in at Create, or at Create and Update: add Create"
	Operations []DefaultsOperation `json:"operations,omitempty"`
	// The values, in the shape of the object. Maps merge; lists and scalars are
	// taken as a whole. Of metadata only labels and annotations can be filled
	// in, and nothing in status.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
	// Values that an expression yields, in this order; each sees those before.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=32
	Computed []ComputedDefault `json:"computed,omitempty"`
}

// DefaultsOperation is an operation at which defaults are filled in.
//
// +kubebuilder:validation:Enum=Create;Update
type DefaultsOperation string

// Operations at which defaults are filled in.
const (
	DefaultsCreate DefaultsOperation = "Create"
	DefaultsUpdate DefaultsOperation = "Update"
)

// ComputedDefault is a default that a CEL expression yields.
type ComputedDefault struct {
	// The field to fill in: names joined by dots, other names quoted, as in
	// spec.secretName or metadata.labels['example.com/team'].
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(apiVersion|kind|status)($|[.[])') && (!self.matches('^metadata($|[.[])') || self.matches('^metadata[.](labels|annotations)[.[].'))",message="want a field below spec, data, metadata.labels, metadata.annotations or another top-level field: status, apiVersion, kind and the rest of metadata cannot be filled in"
	// +kubebuilder:validation:XValidation:rule="!self.contains('=')",message="items of lists cannot be filled in: name a field such as spec.secretName"
	Path string `json:"path"`
	// The expression. It sees object (as defaulted so far), request.userInfo
	// and namespaceObject (null where there is none). Where it yields null or
	// fails, the field stays as it is, and the failure is counted.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}
