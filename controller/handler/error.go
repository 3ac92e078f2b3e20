package handler

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Error is a temporary or permanent error of a handler. It may be returned
// from any depth, wrapped with %w and joined with errors.Join: it is found
// anywhere in the chain. Make it with Temporary or Permanent.
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
// Its text is appended to the message. Where it is itself temporary or
// permanent, it gives the reason, the delay and the members of the payload
// that this one does not.
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
	switch {
	case e.cause == nil:
		return e.message
	case e.message == "":
		return e.cause.Error()
	}
	return e.message + ": " + e.cause.Error()
}

// Unwrap returns the error that Because set.
func (e *Error) Unwrap() error { return e.cause }

// IsPermanent tells whether err, as a whole, fails a handler for good: it is
// permanent only if every branch of it is. A plain error is not.
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
// It is for engines, which call it in the deferred function.
func RecoverPanic(value any) error {
	if value == nil {
		return nil
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// ErrExited is the plain error of a handler that called runtime.Goexit.
var ErrExited = errors.New("the handler's goroutine exited without a return")
