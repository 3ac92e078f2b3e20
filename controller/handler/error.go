package handler

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Error is a temporary or permanent error of a handler. It may be returned
// from any depth, wrapped with %w and joined with errors.Join: it is found
// anywhere in the chain.
type Error struct {
	message   string
	permanent bool
	reason    string
	after     *time.Duration
	payload   any
	cause     error
}

// Option adds to a temporary or permanent error.
type Option func(*Error)

// After sets the delay before the next attempt, without jitter, from 0 to
// 24 h. It goes before the back-off; permanent errors ignore it.
func After(delay time.Duration) Option { return func(e *Error) { e.after = &delay } }

// Status adds a payload, any value that encodes to JSON. It replaces the
// handler's last payload, in .status where the schema keeps it and else in
// the status annotation, and stays readable after the end.
func Status(payload any) Option { return func(e *Error) { e.payload = payload } }

// Reason sets a CamelCase word for machines, such as "QuotaExceeded".
func Reason(word string) Option { return func(e *Error) { e.reason = word } }

// Because sets the error that caused this one, for errors.Is and errors.As.
// Its text is appended to the message.
func Because(err error) Option { return func(e *Error) { e.cause = err } }

// Temporary returns an error after which the handler runs again: after the
// delay that After sets, else after the back-off. It uses up one attempt.
func Temporary(message string, options ...Option) error {
	return newError(message, false, options)
}

// Permanent returns an error after which the handler does not run again until
// the object changes or a person asks for it with the retry annotation.
func Permanent(message string, options ...Option) error {
	return newError(message, true, options)
}

func newError(message string, permanent bool, options []Option) error {
	e := &Error{message: message, permanent: permanent}
	for _, option := range options {
		option(e)
	}
	return e
}

func (e *Error) Error() string {
	if e.cause == nil {
		return e.message
	}
	return e.message + ": " + e.cause.Error()
}

// Unwrap returns the error that Because set.
func (e *Error) Unwrap() error { return e.cause }

// IsPermanent tells whether err, as a whole, fails a handler for good: it is
// permanent only if every branch of it is.
func IsPermanent(err error) bool {
	return err != nil && examine(err, RetryError).kind == permanent
}

// PanicError is the plain error that a panic of a handler becomes.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// RecoverPanic turns what recover returned into an error; nil stays nil.
func RecoverPanic(value any) error {
	if value == nil {
		return nil
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// ErrExited is the plain error of a handler that called runtime.Goexit.
var ErrExited = errors.New("the handler's goroutine exited without a return")

type kind uint8

const (
	ignored kind = iota // no bearing on the outcome
	permanent
	temporary
)

// finding is what a tree of errors says as a whole.
type finding struct {
	kind    kind
	reason  string
	after   *time.Duration
	payload any
	err     error // a payload that doesn't encode
}

// examine walks the tree of an error. Of a chain the outermost Error decides,
// and inner payloads fill in below its own. Of branches, the whole is
// permanent only if all are, the shortest delay goes, and payloads merge, later
// ones over earlier ones.
func examine(err error, policy ErrorPolicy) finding {
	switch e := err.(type) {
	case *Error:
		f := finding{kind: temporary, reason: e.reason, after: e.after}
		if e.permanent {
			f.kind = permanent
		}
		f.payload, f.err = plainValue(e.payload)
		if e.cause != nil {
			inner := examine(e.cause, policy)
			f.payload = mergePayloads(inner.payload, f.payload)
		}
		return f
	case interface{ Unwrap() []error }:
		return examineBranches(e.Unwrap(), policy)
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil && hasError(inner) {
			return examine(inner, policy)
		}
	}
	switch policy {
	case FailError:
		return finding{kind: permanent}
	case IgnoreError:
		return finding{kind: ignored}
	}
	return finding{kind: temporary}
}

func hasError(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

func examineBranches(branches []error, policy ErrorPolicy) finding {
	var whole finding
	for _, branch := range branches {
		if branch == nil {
			continue
		}
		f := examine(branch, policy)
		if f.kind > whole.kind {
			whole.kind = f.kind
		}
		if whole.reason == "" {
			whole.reason = f.reason
		}
		if f.kind == temporary && f.after != nil && (whole.after == nil || *f.after < *whole.after) {
			whole.after = f.after
		}
		whole.payload = mergePayloads(whole.payload, f.payload)
		whole.err = errors.Join(whole.err, f.err)
	}
	return whole
}

// mergePayloads lays b over a: objects merge by key, all else is replaced.
func mergePayloads(a, b any) any {
	if b == nil {
		return a
	}
	over, ok := b.(map[string]any)
	under, ok2 := a.(map[string]any)
	if !ok || !ok2 {
		return b
	}
	merged := make(map[string]any, len(under)+len(over))
	for key, value := range under {
		merged[key] = value
	}
	for key, value := range over {
		merged[key] = mergePayloads(merged[key], value)
	}
	return merged
}

// plainValue is the payload as JSON holds it.
func plainValue(payload any) (any, error) {
	if payload == nil {
		return nil, nil
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("payload of type %T does not encode to JSON: %w", payload, err)
	}
	return decodeValue(text)
}
