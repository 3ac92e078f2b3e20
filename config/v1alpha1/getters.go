package v1alpha1

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Defaults of what a set leaves out.
const (
	DefaultTimeout        = 10 * time.Second
	DefaultConnectTimeout = 3 * time.Second
	DefaultConcurrency    = 8
	DefaultInitial        = time.Second
	DefaultFactor         = 2
	DefaultMax            = 5 * time.Minute
)

// GroupVersionResource is the resource in apimachinery's words.
func (r Resource) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

// GroupResource is the resource without its version.
func (r Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}
}

// OnUpdate tells whether defaults are filled in at updates, too.
func (d *Defaults) OnUpdate() bool {
	if d == nil {
		return false
	}
	for _, operation := range d.Operations {
		if operation == DefaultsUpdate {
			return true
		}
	}
	return false
}

// Scheme is that of requests: https, or http for a plaintext Service.
func (h *HTTP) Scheme() string {
	if h.Plaintext && h.Service != nil {
		return "http"
	}
	return "https"
}

// ServicePort is the port of the Service, 0 without one.
func (h *HTTP) ServicePort() int32 {
	switch {
	case h.Service == nil:
		return 0
	case h.Service.Port != 0:
		return h.Service.Port
	case h.Plaintext:
		return 80
	}
	return 443
}

// ServicePath is the path of requests to the Service.
func (h *HTTP) ServicePath() string {
	if h.Service == nil || h.Service.Path == "" {
		return "/"
	}
	return h.Service.Path
}

// ServiceNamespace is the namespace of the Service that a handler of the set
// calls; empty without one. In a HandlerSet it is the set's, whatever is named.
func (h *HTTP) ServiceNamespace(set AnySet) string {
	switch {
	case h.Service == nil:
		return ""
	case set.GetNamespace() != "":
		return set.GetNamespace()
	}
	return h.Service.Namespace
}

// SecretNamespace is the namespace of a Secret that a handler of the set refers
// to. In a HandlerSet it is the set's, whatever is named.
func (h *HTTP) SecretNamespace(set AnySet, ref *SecretReference) string {
	switch {
	case set.GetNamespace() != "":
		return set.GetNamespace()
	case ref != nil && ref.Namespace != "":
		return ref.Namespace
	}
	return h.ServiceNamespace(set)
}

// Timeouts are those of an attempt, of connecting, and of the answer's header.
func (h *HTTP) Timeouts() (total, connect, header time.Duration) {
	total = h.Timeout.or(DefaultTimeout)
	return total, min(h.ConnectTimeout.or(DefaultConnectTimeout), total), min(h.HeaderTimeout.or(total), total)
}

// InFlight is the number of requests that may be in flight at the same time.
func (h *HTTP) InFlight() int {
	if h.Concurrency == 0 {
		return DefaultConcurrency
	}
	return int(h.Concurrency)
}

// Bounds are the number of attempts and the time for all of them; 0: none.
func (r *Retry) Bounds() (limit int, timeout time.Duration) {
	if r == nil {
		return 0, 0
	}
	return int(r.Limit), r.Timeout.or(0)
}

// Delays are the first delay, its growth, and the longest one.
func (r *Retry) Delays() (initial time.Duration, factor float64, longest time.Duration) {
	if r == nil {
		return DefaultInitial, DefaultFactor, DefaultMax
	}
	initial = r.Initial.or(DefaultInitial)
	longest = r.Max.or(max(DefaultMax, initial))
	return min(initial, longest), factorOf(r.Factor), longest
}

// factorOf reads a factor; one that is none, which the schema refuses, is the default.
func factorOf(v *intstr.IntOrString) float64 {
	if v == nil {
		return DefaultFactor
	}
	if v.Type == intstr.Int {
		return max(1, float64(v.IntVal))
	}
	factor, err := strconv.ParseFloat(v.StrVal, 64)
	if err != nil || !(factor >= 1 && factor <= 100) {
		return DefaultFactor
	}
	return factor
}

// Policy says what an error leads to that the endpoint did not classify.
func (r *Retry) Policy() ErrorPolicy {
	if r == nil || r.OnError == "" {
		return ErrorRetry
	}
	return r.OnError
}

// Place is where payloads go.
func (s *StatusTarget) Place() Target {
	if s == nil || s.Target == "" {
		return TargetAuto
	}
	return s.Target
}

// StatusPath is the place of a handler's payloads below .status.
func (h *Handler) StatusPath() string {
	if h.Status == nil || h.Status.Path == "" {
		return h.ID
	}
	return h.Status.Path
}

// ConditionType is the type of the condition that a handler keeps; empty: none.
func (h *Handler) ConditionType() string {
	switch {
	case h.Status == nil || !h.Status.Condition:
		return ""
	case h.Status.ConditionType == "":
		return h.ID
	}
	return h.Status.ConditionType
}

// or is the span, or another one where there is none.
func (d *Duration) or(other time.Duration) time.Duration {
	if d == nil {
		return other
	}
	return d.Duration
}
