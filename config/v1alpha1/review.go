package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HandlerReviewKind is the kind of a HandlerReview.
const HandlerReviewKind = "HandlerReview"

// HandlerReview is what an endpoint is sent by POST, and what it answers. It is
// shaped like an AdmissionReview: a request in, a response with the same uid
// out. It is no object of the API server.
//
// +kubebuilder:object:generate=false
type HandlerReview struct {
	// "dogear.dev/v1alpha1" and "HandlerReview", in requests and in answers.
	metav1.TypeMeta `json:",inline"`
	// What the endpoint is told. Only in requests; in an answer it is ignored.
	// +optional
	Request *HandlerReviewRequest `json:"request,omitempty"`
	// What the endpoint answers. Only in answers.
	// +optional
	Response *HandlerReviewResponse `json:"response,omitempty"`
}

// HandlerReviewRequest is what an endpoint is told. Members may be added;
// ignore those that you don't know.
//
// +kubebuilder:object:generate=false
type HandlerReviewRequest struct {
	// Names this call, and no other. The response repeats it.
	// +required
	UID string `json:"uid"`
	// The handler that is called.
	// +required
	Handler HandlerReviewHandler `json:"handler"`
	// The object's resource.
	// +required
	Resource metav1.GroupVersionResource `json:"resource"`
	// The object's kind.
	// +required
	Kind metav1.GroupVersionKind `json:"kind"`
	// Why the handler runs: just one of the causes.
	// +required
	Cause Cause `json:"cause"`

	// The object as it was when the attempt began: all of it but managedFields
	// and annotations of Dogear, or what projection names. Values of Secrets are
	// "" without includeSecretData.
	// +required
	Object json.RawMessage `json:"object"`
	// The object as it was when this handler last finished: labels,
	// annotations, spec and the like, without status. Absent where known is false.
	// +optional
	Old json.RawMessage `json:"old,omitempty"`
	// The differences of old and object, sorted by path. Absent where known is false.
	// +optional
	Changes []HandlerReviewChange `json:"changes,omitempty"`
	// Tells whether old and changes are known. They are not on Create, and
	// never without the handler's diff and the webhook.
	// +required
	Known bool `json:"known"`

	// Counts from 1; answers with Waiting do not count.
	// +required
	Attempt int32 `json:"attempt"`
	// Tells that a temporary error fails the handler for good.
	// +required
	LastAttempt bool `json:"lastAttempt"`
	// When the first attempt began: RFC 3339, in whole seconds.
	// +required
	Started metav1.Time `json:"started"`
	// When the last attempt is due at the latest: RFC 3339, in whole seconds.
	// Absent where retry.timeout sets no limit.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// The same whenever the handler runs for the same state of the same object
	// for the same cause: later attempts, and repeats after a crash, included.
	// It is also the header webhook-id.
	// +required
	IdempotencyID string `json:"idempotencyID"`
	// Never falls: who has seen a greater one may refuse this call as that of a
	// former leader.
	// +required
	Fence int64 `json:"fence"`
	// The user who made the change; absent where the webhook did not see it.
	// +optional
	By string `json:"by,omitempty"`

	// The last payloads of handlers on this object, any JSON each, by the IDs
	// that annotations use (<set>/<id>, <namespace>/<set>/<id>): those before
	// this one, and this one's own, included.
	// +optional
	Payloads map[string]json.RawMessage `json:"payloads,omitempty"`
	// What the caller honours beyond this version's basics, such as Callback.
	// +optional
	Capabilities []string `json:"capabilities,omitempty"`
	// Where the outcome may be sent later, after an answer of Waiting. Absent
	// where the installation has no callback address.
	// +optional
	Callback *HandlerReviewCallback `json:"callback,omitempty"`
}

// CapabilityCallback is the capability of taking an outcome later, at
// request.callback.
const CapabilityCallback = "Callback"

// HandlerReviewHandler names a handler.
//
// +kubebuilder:object:generate=false
type HandlerReviewHandler struct {
	// The name of its set.
	// +required
	Set string `json:"set"`
	// The set's namespace; absent for a ClusterHandlerSet.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Its id in the set.
	// +required
	ID string `json:"id"`
}

// HandlerReviewChange is one difference; a map that is new or gone shows as its members.
//
// +kubebuilder:object:generate=false
type HandlerReviewChange struct {
	// The field, such as spec.dnsNames or metadata.labels['example.com/size'].
	// +required
	Path string `json:"path"`
	// The value before, any JSON; absent where there was none.
	// +optional
	Old json.RawMessage `json:"old,omitempty"`
	// The value now, any JSON; absent where there is none.
	// +optional
	New json.RawMessage `json:"new,omitempty"`
}

// HandlerReviewCallback is where an outcome may be sent later: by POST of a
// HandlerReview with a response, whose uid is that of this request. It must be
// signed where the request is, with the same key. It counts once, and only
// while the handler waits: 200 tells that it was taken, 409 and 503 to send it
// again after Retry-After, 404 and 410 that it came too late or for the second
// time.
//
// +kubebuilder:object:generate=false
type HandlerReviewCallback struct {
	// The https URL to send it to; the token is part of it.
	// +required
	URL string `json:"url"`
	// The token. Who knows it may tell the outcome, so keep it out of logs.
	// +required
	Token string `json:"token"`
	// When the token expires: RFC 3339, in whole seconds.
	// +required
	Expires metav1.Time `json:"expires"`
}

// HandlerReviewResponse is what an endpoint answers. A member that is not named
// here makes the answer invalid.
//
// +kubebuilder:object:generate=false
type HandlerReviewResponse struct {
	// That of the request.
	// +required
	UID string `json:"uid"`
	// What the attempt came to. A payload may come with each of them.
	// +required
	Outcome Outcome `json:"outcome"`
	// A CamelCase word for machines, such as QuotaExceeded; at most 128
	// letters and digits.
	// +optional
	Reason string `json:"reason,omitempty"`
	// A text for people. At most 1024 bytes of it are kept, without control
	// characters; no secrets, please: it is shown in annotations and events.
	// +optional
	Message string `json:"message,omitempty"`
	// With Waiting and Retrying: the delay before the next run, such as "30s",
	// at most 24h. It goes before the header Retry-After, and that before the
	// back-off, or 30s with Waiting. Ignored with the other outcomes.
	// +optional
	After *Duration `json:"after,omitempty"`
	// The payload, any JSON. It replaces the handler's last one, keys that
	// vanished included; absent or null leaves that as it is, {} clears it.
	// +optional
	Status json.RawMessage `json:"status,omitempty"`
	// Changes of the object, written with the outcome, whatever it is.
	// +optional
	Patch *HandlerReviewPatch `json:"patch,omitempty"`
}

// Outcome is what an attempt came to.
//
// +kubebuilder:validation:Enum=Succeeded;Waiting;Retrying;Failed
type Outcome string

// Outcomes.
const (
	// OutcomeSucceeded: done, until the object changes.
	OutcomeSucceeded Outcome = "Succeeded"
	// OutcomeWaiting: not done; called again later. Uses up no attempt.
	OutcomeWaiting Outcome = "Waiting"
	// OutcomeRetrying: a temporary error; called again later, unless the limit
	// of attempts or the time is used up.
	OutcomeRetrying Outcome = "Retrying"
	// OutcomeFailed: a permanent error; not called again until the object
	// changes or a person asks for it.
	OutcomeFailed Outcome = "Failed"
)

// HandlerReviewPatch is a set of changes of the object. What is there already
// is not written. A change that is refused makes the attempt fail for good
// (reason BadPatch).
//
// +kubebuilder:object:generate=false
type HandlerReviewPatch struct {
	// Labels to set; null removes one.
	// +optional
	Labels map[string]*string `json:"labels,omitempty"`
	// Annotations to set; null removes one. Those of Dogear are refused.
	// +optional
	Annotations map[string]*string `json:"annotations,omitempty"`
	// A merge patch (RFC 7386) of spec: objects merge, lists are replaced as a
	// whole, null removes.
	// +optional
	Spec map[string]json.RawMessage `json:"spec,omitempty"`
	// A merge patch of other top-level fields, for kinds without a spec, such
	// as {"data": {"key": "value"}}. metadata and status are refused.
	// +optional
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
}
