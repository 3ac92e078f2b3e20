package webhook

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
)

// Answer is what an [Admitter] decided.
type Answer struct {
	// Response goes to the API server. The uid is set by the server; a patch
	// without a type is a JSON patch. Nil is a fault, answered with 500.
	Response *admissionv1.AdmissionResponse
	// Decision names what was done, as a label of the metrics. It must be one of
	// a few constants, never text from the request.
	Decision string
}

// Admitter decides about one request. It is called by many goroutines at once
// and has to answer within milliseconds; ctx ends when the API server gives up.
// Object and OldObject are raw JSON that the admitter may keep.
//
// A panic is answered with 500, which under failurePolicy Ignore lets the object
// pass. So does everything else that goes wrong in the server; `Allowed: false`
// is the only answer that refuses the user's request.
type Admitter interface {
	Admit(ctx context.Context, req *admissionv1.AdmissionRequest) Answer
}

// AdmitterFunc is a function as an [Admitter].
type AdmitterFunc func(ctx context.Context, req *admissionv1.AdmissionRequest) Answer

// Admit calls f.
func (f AdmitterFunc) Admit(ctx context.Context, req *admissionv1.AdmissionRequest) Answer {
	return f(ctx, req)
}
