package handlertest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
)

// WantSucceeded fails the test unless the handler has succeeded.
func (o Outcome[T]) WantSucceeded(t testing.TB) {
	t.Helper()
	o.want(t, handler.Succeeded, "success")
}

// WantWaiting fails the test unless the handler is not done and runs again,
// with no attempt used.
func (o Outcome[T]) WantWaiting(t testing.TB) {
	t.Helper()
	o.want(t, handler.Waiting, "waiting, by handler.Wait")
}

// WantRetrying fails the test unless the handler has failed for now and runs
// again.
func (o Outcome[T]) WantRetrying(t testing.TB) {
	t.Helper()
	o.want(t, handler.Retrying, "a temporary error with an attempt left")
}

// WantFailed fails the test unless the handler has failed for good: by a
// permanent error, or by a limit of Spec.Retry.
func (o Outcome[T]) WantFailed(t testing.TB) {
	t.Helper()
	o.want(t, handler.Failed, "failure for good")
}

// WantInterrupted fails the test unless the attempt counts for nothing, as
// Options.Context has ended.
func (o Outcome[T]) WantInterrupted(t testing.TB) {
	t.Helper()
	if !o.Interrupted {
		t.Errorf("want: an attempt that counts for nothing\ngot: %s", o)
	}
}

func (o Outcome[T]) want(t testing.TB, kind handler.OutcomeKind, words string) {
	t.Helper()
	if o.Kind != kind || o.Interrupted {
		t.Errorf("want: %s\ngot: %s", words, o)
	}
}

// WantDelay fails the test unless the handler runs again after just that
// delay; 0: it does not.
func (o Outcome[T]) WantDelay(t testing.TB, delay time.Duration) {
	t.Helper()
	if o.Delay != delay {
		t.Errorf("want: a delay of %s\ngot: %s", delay, o)
	}
}

// WantReason fails the test unless the outcome has that reason.
func (o Outcome[T]) WantReason(t testing.TB, reason string) {
	t.Helper()
	if o.Reason != reason {
		t.Errorf("want: reason %q\ngot: %s", reason, o)
	}
}

// WantError fails the test unless the handler's error is target, by errors.Is.
func (o Outcome[T]) WantError(t testing.TB, target error) {
	t.Helper()
	if !errors.Is(o.Err, target) {
		t.Errorf("want: error %v\ngot: %s", target, o)
	}
}

// WantPayload fails the test unless the payload is, as JSON, the same as want;
// nil: there is none.
func (o Outcome[T]) WantPayload(t testing.TB, want any) {
	t.Helper()
	text := encode(t, want)
	value, err := storage.DecodeValue(text)
	if err != nil {
		t.Fatalf("handlertest: decode %T: %v", want, err)
	}
	if !reflect.DeepEqual(value, o.Payload) {
		t.Errorf("want: payload %s\ngot: %s", text, o)
	}
}
