// Package plan is the decision that admission and the controller share: what
// is due on an object and when, and what its marker becomes by an outcome, a
// stamp or a restoration. It is pure: the same input gives the same answer,
// and time and chance are part of the input.
//
// The package knows nothing of clients, schemas or user code. A history of
// objects, outcomes and crashes can be replayed against it in microseconds,
// which is how the rules of the design are tested.
package plan
