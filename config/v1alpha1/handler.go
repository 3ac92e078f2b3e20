package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Handler is an endpoint that is called for the objects of the set.
//
// +kubebuilder:validation:XValidation:rule="!(self.id in ['conditions', 'observedGeneration']) || (has(self.status) && (has(self.status.path) || self.status.target == 'Annotation'))",message="payloads would replace .status.conditions or .status.observedGeneration, which belong to the object's owner: choose another id, or set status.path"
type Handler struct {
	// Names the handler in the set, for ever: what it has finished is recorded
	// under this name, and its payloads are filed under it. On an object the ID
	// is <set>/<id>, or <namespace>/<set>/<id> for a HandlerSet.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?$')",message="want 1 to 63 letters, digits, - and _, with a letter or digit at both ends"
	ID string `json:"id"`
	// What it is called for. Create: it never finished on this object. Update:
	// the object has changed since it finished. Delete: the object is being
	// deleted; it gets a finalizer, which goes once the handler has finished.
	// Resume: Dogear has started, and the handler had finished before.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Causes []Cause `json:"causes"`
	// Makes it due only by a change of these fields, such as spec.dnsNames,
	// metadata.annotations['example.com/size'] or
	// status.conditions[type=Ready].status. They may lie in status; of a list
	// of conditions only type, status and reason count. Default: all of the
	// object but status and metadata other than labels and annotations.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Fields []string `json:"fields,omitempty"`
	// The endpoint.
	// +required
	HTTP HTTP `json:"http"`
	// Bounds and paces the attempts.
	// +optional
	Retry *Retry `json:"retry,omitempty"`
	// Where payloads go.
	// +optional
	Status *StatusTarget `json:"status,omitempty"`
	// Raised, makes the handler due on all objects once more.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`
	// Has each attempt written before it runs, so that one which takes Dogear
	// down with it still uses up its limit. It costs one write an attempt.
	// +optional
	Claim bool `json:"claim,omitempty"`
	// Keeps the object as it was before a change, so that a request has old and
	// changes. Never for Secrets, and only with the webhook.
	// +optional
	Diff bool `json:"diff,omitempty"`
}

// Cause is why a handler runs.
//
// +kubebuilder:validation:Enum=Create;Update;Delete;Resume
type Cause string

// Causes.
const (
	CauseCreate Cause = "Create"
	CauseUpdate Cause = "Update"
	CauseDelete Cause = "Delete"
	CauseResume Cause = "Resume"
)

// Retry bounds and paces the attempts of a handler after temporary errors. The
// delay before attempt n+1 is initial × factor^(n-1), at most max, and up to a
// tenth longer by chance; a delay that the endpoint names goes first.
//
// +kubebuilder:validation:XValidation:rule="!has(self.initial) || !has(self.max) || !self.initial.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$') || !self.max.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$') || duration(self.initial) <= duration(self.max)",message="initial is greater than max: lower initial or raise max"
type Retry struct {
	// The number of attempts; the last one that ends in a temporary error fails
	// the handler for good, and lets an object in deletion go without it. Calls
	// that reach nobody, for want of a connection, are no attempts. 0: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Limit int32 `json:"limit,omitempty"`
	// The first delay. Default: 1s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$') || (duration(self) >= duration('10ms') && duration(self) <= duration('24h'))",message="want 10ms to 24h"
	Initial *Duration `json:"initial,omitempty"`
	// The growth of the delay, from 1 to 100: a whole number, or a decimal as
	// text ("1.5"). Default: 2.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 100 : self.matches('^([1-9][0-9]?([.][0-9]{1,3})?|100)$')",message="want 1 to 100: a whole number such as 2, or a decimal in quotes such as \"1.5\""
	Factor *intstr.IntOrString `json:"factor,omitempty"`
	// The longest delay. Default: 5m, or initial if that is longer.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$') || (duration(self) >= duration('10ms') && duration(self) <= duration('24h'))",message="want 10ms to 24h"
	Max *Duration `json:"max,omitempty"`
	// The time from the start of the first attempt within which the last one is
	// due; it counts across restarts. Default: none.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$') || duration(self) >= duration('1s')",message="want 1s or more"
	Timeout *Duration `json:"timeout,omitempty"`
	// What a call that failed on its way, and an answer without a valid body that
	// is no success, leads to. Retry goes by the HTTP status: 408, 425, 429, 5xx
	// and failed calls are temporary, redirects and other 4xx permanent. Fail
	// makes it permanent, Ignore a success that is only logged. The outcome in a
	// valid body counts as it is, and a call that reaches nobody is made later.
	// +optional
	// +kubebuilder:default=Retry
	OnError ErrorPolicy `json:"onError,omitempty"`
}

// ErrorPolicy says what an error leads to that the endpoint did not classify.
//
// +kubebuilder:validation:Enum=Retry;Fail;Ignore
type ErrorPolicy string

// Consequences of an error.
const (
	ErrorRetry  ErrorPolicy = "Retry"
	ErrorFail   ErrorPolicy = "Fail"
	ErrorIgnore ErrorPolicy = "Ignore"
)

// StatusTarget says where a handler's payloads go.
//
// +kubebuilder:validation:XValidation:rule="!has(self.path) || self.target != 'Annotation'",message="path is a place below .status, which target Annotation never writes: remove path, or set target to Auto or Status"
// +kubebuilder:validation:XValidation:rule="!has(self.conditionType) || (has(self.condition) && self.condition)",message="conditionType names a condition that is not kept: set condition to true, or remove conditionType"
type StatusTarget struct {
	// Auto writes to .status where the resource's schema keeps it, else to the
	// status annotation. Annotation writes to the annotation only. Status is
	// for a place that must be in .status: as Auto, for no payload is lost, but
	// the set is not Ready while the schema does not keep it.
	// +optional
	// +kubebuilder:default=Auto
	Target Target `json:"target,omitempty"`
	// The place below .status, names joined by dots. Default: the handler's id.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^.\\\\s]+([.][^.\\\\s]+)*$')",message="want names joined by dots, such as hooks.myapp"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([.]?status[.]|(conditions|observedGeneration)($|[.]))')",message="want a place below .status, without the word status, and neither conditions nor observedGeneration, which belong to the object's owner"
	Path string `json:"path,omitempty"`
	// Keeps a condition in .status.conditions of the object, where its schema
	// has a map list of conditions there.
	// +optional
	Condition bool `json:"condition,omitempty"`
	// The type of that condition. Default: the handler's id.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="want the type of a condition, such as Provisioned or example.com/Provisioned"
	ConditionType string `json:"conditionType,omitempty"`
}

// Target is a place for payloads.
//
// +kubebuilder:validation:Enum=Auto;Annotation;Status
type Target string

// Places for payloads.
const (
	TargetAuto       Target = "Auto"
	TargetAnnotation Target = "Annotation"
	TargetStatus     Target = "Status"
)
