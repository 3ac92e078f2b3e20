package handler

import (
	"bytes"
	"encoding/json"
	"errors"
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
}

// Wait returns the Result of a handler that is not done and wants to run again
// after that delay. It uses up no attempt.
func Wait(delay time.Duration) Result { return Result{Wait: &delay} }

// OutcomeKind is what an attempt came to.
type OutcomeKind uint8

// What an attempt came to.
const (
	Succeeded     OutcomeKind = iota
	Waiting                   // not done: run again after a delay; no attempt used
	TemporaryFail             // run again after a delay, unless the limit is reached
	PermanentFail             // don't run again
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
	// Message is the error's text; empty without an error.
	Message string
	// Payload is built of what JSON has; nil: none.
	Payload any
	// Err is the error that the handler returned.
	Err error
}

// Classify turns what a handler returned into an Outcome.
// A payload that does not encode to JSON is a permanent failure: another
// attempt would end the same way.
func Classify(result Result, err error, policy ErrorPolicy) Outcome {
	if err == nil {
		return classifyResult(result)
	}
	f := examine(err, policy)
	o := Outcome{Reason: f.reason, Message: err.Error(), Payload: f.payload, Err: err}
	switch f.kind {
	case ignored:
		o.Kind = Succeeded
		payload, perr := plainValue(result.Status)
		o.Payload, f.err = payload, perr
	case permanent:
		o.Kind = PermanentFail
	case temporary:
		o.Kind, o.After = TemporaryFail, f.after
	}
	if o.Reason == "" && o.Kind != Succeeded {
		o.Reason = plainReason(err)
	}
	return o.checked(f.err)
}

func classifyResult(result Result) Outcome {
	payload, err := plainValue(result.Status)
	o := Outcome{Kind: Succeeded, Payload: payload, Reason: result.Reason}
	if result.Wait != nil {
		o.Kind, o.After = Waiting, result.Wait
	}
	return o.checked(err)
}

func (o Outcome) checked(err error) Outcome {
	if err == nil {
		return o
	}
	return Outcome{Kind: PermanentFail, Reason: ReasonBadPayload, Message: err.Error(), Err: err}
}

func plainReason(err error) string {
	var panic *PanicError
	switch {
	case errors.As(err, &panic):
		return ReasonPanicked
	case errors.Is(err, ErrExited):
		return ReasonExited
	}
	return ReasonError
}

// decodeValue reads JSON as unstructured objects hold it: integers as int64.
func decodeValue(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return plainNumbers(v), nil
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = plainNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainNumbers(item)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	}
	return v
}
