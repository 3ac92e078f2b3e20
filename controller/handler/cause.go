package handler

import "strings"

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
	// HandleExisting runs the handler on them, as Create. The default.
	HandleExisting Existing = iota
	// AdoptExisting marks them as handled without a run; their next change counts.
	AdoptExisting
)
