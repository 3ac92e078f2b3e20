package handler

import (
	"errors"
	"fmt"
	"time"
)

// Result says what happens after success. The zero Result: nothing.
type Result struct {
	// Status is the payload, any value that encodes to JSON. It replaces the
	// handler's last payload, keys that vanished included; nil leaves that as
	// it is, and an empty object clears it.
	Status any
	// Wait, if not nil, says that the handler is not done and wants to run
	// again after that delay, from 0 to 24 h. That uses up no attempt.
	Wait *time.Duration
	// Reason is a CamelCase word for machines, shown while waiting.
	Reason string
	// Message is a text for people, shown while waiting.
	Message string
	// Completion, with Wait, is a word that was never used before: somebody who
	// knows it may end the waiting by the operator's Complete.
	Completion string
}

// Wait returns the Result of a handler that is not done and wants to run again
// after that delay. It uses up no attempt.
func Wait(delay time.Duration) Result { return Result{Wait: &delay} }

// OutcomeKind is what an attempt came to.
type OutcomeKind uint8

// What an attempt came to.
const (
	Succeeded OutcomeKind = iota
	Waiting               // not done: run again after a delay; no attempt used
	Retrying              // run again after a delay, unless the limit is reached
	Failed                // don't run again
)

// String is the word used in logs and metrics.
func (k OutcomeKind) String() string {
	return [...]string{"Succeeded", "Waiting", "Retrying", "Failed"}[k]
}

// Outcome is what an attempt came to, in full.
type Outcome struct {
	Kind OutcomeKind
	// After is the delay that the handler named; nil: it named none.
	After *time.Duration
	// Reason is a CamelCase word; empty where the handler gave none.
	Reason string
	// Message is the error's text, or what the handler says while it waits.
	Message string
	// Completion is a word by which a Waiting outcome may be completed.
	Completion string
	// Payload is built of what JSON has; nil: none.
	Payload any
	// Err is the error that the handler returned.
	Err error

	bad error // a payload that doesn't encode
}

// Classify turns what a handler returned into an Outcome.
//
// A payload counts beside any error, too: that of the error lies over that of
// the result. A payload that does not encode to JSON is a permanent failure:
// another attempt would end the same way.
func Classify(result Result, err error, policy ErrorPolicy) Outcome {
	o := classifyResult(result)
	if err == nil {
		return o.checked()
	}
	f := examine(err, policy)
	o.Message, o.Err = err.Error(), err
	o.Payload = mergePayloads(o.Payload, f.payload)
	o.bad = errors.Join(o.bad, f.err)
	switch f.kind {
	case ignored:
		return o.checked()
	case permanent:
		o.Kind, o.After, o.Completion = Failed, nil, ""
	case temporary:
		o.Kind, o.After, o.Completion = Retrying, f.after, ""
	}
	if o.Reason = f.reason; o.Reason == "" {
		o.Reason = plainReason(err)
	}
	return o.checked()
}

func classifyResult(result Result) Outcome {
	o := Outcome{Kind: Succeeded, Reason: result.Reason}
	if result.Wait != nil {
		o.Kind, o.After, o.Message, o.Completion = Waiting, result.Wait, result.Message, result.Completion
	}
	o.Payload, o.bad = plainValue(result.Status)
	return o
}

// checked is the outcome, or what it becomes by a payload that doesn't encode.
func (o Outcome) checked() Outcome {
	if o.bad == nil {
		return o
	}
	err := o.bad
	if o.Err != nil {
		err = fmt.Errorf("%w; it came with: %w", o.bad, o.Err)
	}
	return Outcome{Kind: Failed, Reason: ReasonBadPayload, Message: err.Error(), Err: err}
}

// BadPatch is what an outcome becomes whose patch is refused: a permanent
// failure that keeps the payload. err is that of Patch.MergePatch.
func BadPatch(o Outcome, err error) Outcome {
	return Outcome{Kind: Failed, Reason: ReasonBadPatch, Message: err.Error(), Payload: o.Payload, Err: err}
}

func plainReason(err error) string {
	var panicked *PanicError
	switch {
	case errors.As(err, &panicked):
		return ReasonPanicked
	case errors.Is(err, ErrExited):
		return ReasonExited
	}
	return ReasonError
}
