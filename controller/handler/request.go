package handler

import (
	"encoding/json"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request is what a handler is told. It is the handler's own: nothing in it
// is shared with other handlers.
type Request[T client.Object] struct {
	// Object is a private copy of the object as it was when the attempt began.
	Object T
	// Old is the object's essence as it was when this handler last finished;
	// only labels, annotations, spec and the like are set. It is the zero T
	// where Known is false.
	Old T
	// Changes lists the differences of Old and Object, by path.
	Changes []Change
	// Known tells whether Old and Changes are known. They are not on Create,
	// and never without Spec.Diff and the webhook.
	Known bool
	Info
}

// Info is the part of a Request that does not depend on the object's type.
type Info struct {
	// HandlerID is the ID of the handler that runs.
	HandlerID string
	// Cause is why the handler runs: just one of the causes.
	Cause Cause
	// Attempt counts from 1; Waiting does not count.
	Attempt int
	// LastAttempt tells that a temporary error fails the handler for good,
	// as Retry.Limit is reached. One that would be retried only after Deadline
	// does so too, which no one knows before.
	LastAttempt bool
	// Started is when the first attempt began.
	Started time.Time
	// Deadline is when the last attempt is due at the latest; zero: no limit.
	Deadline time.Time
	// IdempotencyID is the same whenever the handler runs for the same state
	// of the same object for the same cause: repeats after a crash included.
	IdempotencyID string
	// Fence never falls: a receiver that has seen a greater one may refuse
	// this call as that of a former leader.
	Fence int64
	// By is the user who made the change; empty where the webhook did not see it.
	By string
	// Payloads holds the last payloads of the operator's handlers on this
	// object by handler ID, as JSON: those of handlers before this one in
	// this pass, and of this one from earlier runs, included.
	Payloads map[string]json.RawMessage
	// Patch collects changes of the object. They are written in the same
	// request as the outcome, whatever it is.
	Patch *Patch
}

// Payload decodes the last payload of a handler, this one or another, into v.
// It returns false where there is none.
func (i *Info) Payload(handlerID string, v any) (bool, error) {
	text, ok := i.Payloads[handlerID]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return true, fmt.Errorf("payload of handler %q: %w", handlerID, err)
	}
	return true, nil
}

// Change is one difference; a map that is new or gone shows as its members.
type Change struct {
	// Path names the field, such as "spec.dnsNames".
	Path string
	// Old and New are the values as JSON has them; nil: absent.
	Old, New any
}
