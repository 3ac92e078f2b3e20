package handler

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Defaults of Retry and of Spec.Timeout.
const (
	DefaultInitial = time.Second
	DefaultFactor  = 2
	DefaultMax     = 5 * time.Minute
	DefaultTimeout = 5 * time.Minute
)

// Retry bounds and paces the attempts of a handler after temporary errors.
// The delay before attempt n+1 is Initial × Factor^(n-1), at most Max, and up
// to a tenth longer by chance; a delay that the error names goes first.
type Retry struct {
	// Limit is the number of attempts; the last one that ends in a temporary
	// error fails the handler for good. 0: no limit.
	Limit int
	// Initial is the first delay. Default: 1 s.
	Initial time.Duration
	// Factor is the growth of the delay, at least 1. Default: 2.
	Factor float64
	// Max is the longest delay. Default: 5 min, at most 24 h.
	Max time.Duration
	// Timeout is the time from the start of the first attempt within which the
	// last one is due; it counts across restarts. An attempt that was due in
	// time but had to wait, as for the operator to be started, still runs. 0: none.
	Timeout time.Duration
}

// Spec declares a handler. ID and On are required.
type Spec struct {
	// ID names the handler, for ever: what it has finished is recorded under
	// this name, and its payloads are filed under it. At most 253 letters,
	// digits and "-_./", beginning and ending with a letter or digit.
	ID string
	// On joins the causes that the handler runs for.
	On Cause

	// Kind names the kind where T does not: for *unstructured.Unstructured
	// and *metav1.PartialObjectMetadata.
	Kind schema.GroupVersionKind

	// Labels is a label selector in kubectl's words ("app=web,tier in (a,b)").
	// It is pushed down into the watch and the webhook where all handlers of
	// the resource have the same.
	Labels string
	// Annotations must all match.
	Annotations map[string]Match
	// Namespaces names the only namespaces to look at. None: all.
	Namespaces []string
	// Fields makes the handler due only by a change of these fields, such as
	// "spec.dnsNames", "metadata.annotations['example.com/size']" or
	// "status.conditions[type=Ready].status". They may lie in status; of a
	// list of conditions only type, status and reason count.
	Fields []string

	// Existing says what happens to objects older than the handler.
	Existing Existing
	// Revision, raised, makes the handler due on all objects once more.
	Revision int64
	// OnError says what plain errors lead to.
	OnError ErrorPolicy
	// Retry bounds and paces the attempts.
	Retry Retry
	// Timeout ends the context of one attempt. Default: 5 min; negative: none.
	Timeout time.Duration
	// Concurrency is the number of objects that the handler may run on at the
	// same time. Default: three quarters of the workers of its resource.
	Concurrency int
	// Claim has each attempt written before it runs, so that one which takes
	// the process down still uses up its limit. It costs one write an attempt.
	Claim bool
	// Diff has the webhook keep the object as it was before a change, so that
	// Request.Old and Request.Changes are known. Never for Secrets.
	Diff bool
	// Status says where payloads go.
	Status StatusTarget
}

// WithDefaults fills in what is zero.
func (s Spec) WithDefaults() Spec {
	if s.Retry.Initial == 0 {
		s.Retry.Initial = DefaultInitial
	}
	if s.Retry.Factor == 0 {
		s.Retry.Factor = DefaultFactor
	}
	if s.Retry.Max == 0 {
		s.Retry.Max = max(DefaultMax, s.Retry.Initial)
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	return s
}
