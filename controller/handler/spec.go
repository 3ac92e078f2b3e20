package handler

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cause is why a handler runs; a Spec joins several by |.
type Cause uint8

// Causes.
const (
	// Create: the handler never finished on this object.
	Create Cause = 1 << iota
	// Update: the object has changed since the handler finished on it.
	Update
	// Delete: the object is being deleted. A handler for Delete puts a
	// finalizer on the object, which goes once the handler has finished.
	Delete
	// Resume: the process has started, and the handler had finished on this
	// object before. It runs once per process and changes nothing about what
	// is recorded as finished.
	Resume
)

// String is the cause's name; several are joined by |.
func (c Cause) String() string {
	var names []string
	for i, name := range []string{"Create", "Update", "Delete", "Resume"} {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// ErrorPolicy says what an error leads to that is neither Temporary nor Permanent.
type ErrorPolicy uint8

// Consequences of a plain error.
const (
	// RetryError treats it as temporary: the handler runs again after the
	// back-off. The default.
	RetryError ErrorPolicy = iota
	// FailError treats it as permanent: the handler has failed for good.
	FailError
	// IgnoreError treats it as success; it is only logged.
	IgnoreError
)

// Existing says what happens to objects that are older than the operator or
// than the handler.
type Existing uint8

// What happens to older objects.
const (
	// Handle runs the handler on them, as Create. The default.
	Handle Existing = iota
	// Adopt marks them as handled without a run; their next change counts.
	Adopt
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
	// last one may begin; it counts across restarts. 0: none.
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

// Target is a place for payloads.
type Target uint8

// Places for payloads.
const (
	// Auto writes to .status where the schema keeps it, else to the annotation.
	Auto Target = iota
	// Annotation writes to the status annotation only.
	Annotation
)

// StatusTarget says where a handler's payloads go.
type StatusTarget struct {
	Target Target
	// Path is the place below .status, with dots. Default: the handler's ID,
	// whose dots are no separators.
	Path string
	// Condition, if set, is the type of a condition that the handler keeps in
	// .status.conditions, where the schema has a map list of conditions there.
	Condition string
}

// Match is a condition on the value of an annotation. The zero Match wants it
// present, with any value.
type Match struct {
	absent bool
	value  *string
}

// Matches on annotations.
var (
	Present = Match{}
	Absent  = Match{absent: true}
)

// Equals wants the annotation to have just this value.
func Equals(value string) Match { return Match{value: &value} }

// Matches tells whether an annotation, present or not, is as wanted.
func (m Match) Matches(value string, present bool) bool {
	if m.absent || !present {
		return m.absent && !present
	}
	return m.value == nil || *m.value == value
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

var validID = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$`)

// Validate tells what of a Spec, defaults filled in, cannot be used.
func (s Spec) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !validID.MatchString(s.ID) || len(s.ID) > 253 {
		bad("ID %q: want 1 to 253 letters, digits and -_./, with a letter or digit at both ends", s.ID)
	}
	if s.On == 0 || s.On > Create|Update|Delete|Resume {
		bad("On: want at least one of Create, Update, Delete, Resume")
	}
	if _, err := labels.Parse(s.Labels); err != nil {
		bad("Labels %q: %w", s.Labels, err)
	}
	if s.Retry.Limit < 0 {
		bad("Retry.Limit is %d: want 0 (no limit) or more", s.Retry.Limit)
	}
	if !(s.Retry.Factor >= 1) || math.IsInf(s.Retry.Factor, 0) { // NaN compares as false
		bad("Retry.Factor is %v: want 1 or more", s.Retry.Factor)
	}
	if s.Retry.Initial < 0 || s.Retry.Max < s.Retry.Initial || s.Retry.Max > 24*time.Hour {
		bad("Retry.Initial is %s and Retry.Max is %s: want 0 <= Initial <= Max <= 24h", s.Retry.Initial, s.Retry.Max)
	}
	if s.Retry.Timeout < 0 {
		bad("Retry.Timeout is %s: want 0 (none) or more", s.Retry.Timeout)
	}
	if s.Revision < 0 {
		bad("Revision is %d: want 0 or more", s.Revision)
	}
	if s.Concurrency < 0 {
		bad("Concurrency is %d: want 0 (default) or more", s.Concurrency)
	}
	if err := s.Status.validate(s.ID); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("handler %q: %w", s.ID, err)
	}
	return nil
}

func (s StatusTarget) validate(id string) error {
	names := strings.Split(s.Path, ".")
	root := names[0]
	if s.Path == "" {
		root = id
	} else if slices.Contains(names, "") {
		return fmt.Errorf("Status.Path %q: want names joined by dots", s.Path)
	}
	if s.Target == Annotation {
		return nil
	}
	if root == "conditions" || root == "observedGeneration" {
		return fmt.Errorf("payloads would replace .status.%s, which belongs to the object's owner: set Status.Path to another place", root)
	}
	return nil
}
