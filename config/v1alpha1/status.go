package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Types of the conditions of a set. The first three are those of kstatus.
const (
	// ConditionReady: the set is in force as declared.
	ConditionReady = "Ready"
	// ConditionReconciling: Dogear is at work on a change of the set, as on the
	// removal of a handler from all objects. Only there while it is True.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: the set needs a person, as it cannot be used as it is.
	// Only there while it is True.
	ConditionStalled = "Stalled"
	// ConditionResourceServed: the API server serves the resource.
	ConditionResourceServed = "ResourceServed"
	// ConditionEndpointsHealthy: no endpoint's circuit breaker is open, and what
	// calls need may be read.
	ConditionEndpointsHealthy = "EndpointsHealthy"
	// ConditionPermitted: the installation's settings allow the resource and
	// the endpoints, and Dogear has the rights it needs. If not, the message
	// has the rule that is missing.
	ConditionPermitted = "Permitted"
	// ConditionDefaultsValid: the resource's schema keeps all defaults.
	ConditionDefaultsValid = "DefaultsValid"
)

// HandlerSetStatus is what Dogear has made of a set.
type HandlerSetStatus struct {
	// The generation of the set that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready, Reconciling and Stalled as kstatus has them, and ResourceServed,
	// EndpointsHealthy, Permitted and DefaultsValid.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Counts     `json:",inline"`
	// The handlers, those that are being removed included.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=256
	Handlers []HandlerStatus `json:"handlers,omitempty"`
}

// Counts are numbers of objects by the state that they are in. An object with
// several unfinished handlers counts once, by its state annotation. The API
// server fills in zeros: a merge patch leaves out what has not changed.
type Counts struct {
	// Objects that are selected.
	// +optional
	// +default=0
	Objects int64 `json:"objects"`
	// Objects with a handler that is due and has not run yet.
	// +optional
	// +default=0
	Pending int64 `json:"pending"`
	// Objects whose handler wants to run again later.
	// +optional
	// +default=0
	Waiting int64 `json:"waiting"`
	// Objects whose handler runs again after a temporary error.
	// +optional
	// +default=0
	Retrying int64 `json:"retrying"`
	// Objects whose handler has failed for good.
	// +optional
	// +default=0
	Failed int64 `json:"failed"`
	// Objects whose state the API server refuses to store.
	// +optional
	// +default=0
	Blocked int64 `json:"blocked"`
	// The sum of retrying, failed and blocked.
	// +optional
	// +default=0
	Failing int64 `json:"failing"`
}

// HandlerStatus is what Dogear has made of a handler.
type HandlerStatus struct {
	// The handler's id.
	// +required
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`
	// Active, or Removing: the set no longer has the handler, and its records
	// and finalizers are being removed from objects.
	// +required
	Phase  HandlerPhase `json:"phase"`
	Counts `json:",inline"`
	// While Removing: objects that still carry something of the handler.
	// +optional
	Remaining int64 `json:"remaining,omitempty"`
	// The last error of the endpoint, while it is not healthy: text of Dogear
	// and the endpoint, at most 1024 characters, without control characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastError string `json:"lastError,omitempty"`
	// When that error was last seen.
	// +optional
	LastErrorTime *metav1.Time `json:"lastErrorTime,omitempty"`
}

// HandlerPhase tells whether a handler is in force.
//
// +kubebuilder:validation:Enum=Active;Removing
type HandlerPhase string

// Phases of a handler.
const (
	HandlerActive   HandlerPhase = "Active"
	HandlerRemoving HandlerPhase = "Removing"
)
