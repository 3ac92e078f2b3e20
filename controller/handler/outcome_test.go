package handler_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
)

func TestClassifyResults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		result handler.Result
		kind   handler.OutcomeKind
		after  time.Duration // negative: none
	}{
		"the zero Result succeeds": {handler.Result{}, handler.Succeeded, -1},
		"Wait waits":               {handler.Wait(time.Minute), handler.Waiting, time.Minute},
		"Wait for 0 waits, too":    {handler.Wait(0), handler.Waiting, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.result.Reason = "Own"
			test.result.Status = object{"a": "b"}
			o := handler.Classify(test.result, nil, handler.RetryError)
			got := time.Duration(-1)
			if o.After != nil {
				got = *o.After
			}
			if o.Kind != test.kind || got != test.after || o.Reason != "Own" || o.Err != nil || o.Message != "" {
				t.Errorf("got %+v: want %v after %s", o, test.kind, test.after)
			}
			if !reflect.DeepEqual(o.Payload, any(object{"a": "b"})) {
				t.Errorf("got payload %v", o.Payload)
			}
		})
	}
}

func TestClassifyPlainErrorsByPolicy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		policy handler.ErrorPolicy
		kind   handler.OutcomeKind
		reason string
	}{
		"retried by default":     {errPlain, 0, handler.Retrying, handler.ReasonError},
		"failing":                {errPlain, handler.FailError, handler.Failed, handler.ReasonError},
		"ignored":                {errPlain, handler.IgnoreError, handler.Succeeded, ""},
		"all ignored":            {errors.Join(errPlain, wrapped{errPlain}), handler.IgnoreError, handler.Succeeded, ""},
		"a panic is one":         {&handler.PanicError{Value: "boom"}, handler.FailError, handler.Failed, handler.ReasonPanicked},
		"a panic, wrapped":       {wrapped{&handler.PanicError{Value: "boom"}}, 0, handler.Retrying, handler.ReasonPanicked},
		"a panic, ignored":       {&handler.PanicError{Value: "boom"}, handler.IgnoreError, handler.Succeeded, ""},
		"an exit is one":         {handler.ErrExited, 0, handler.Retrying, handler.ReasonExited},
		"a join of no errors":    {noErrors{}, 0, handler.Retrying, handler.ReasonError},
		"an own error stands":    {permanent, handler.IgnoreError, handler.Failed, "NoZone"},
		"an own temporary error": {temporary, handler.FailError, handler.Retrying, "NotReady"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := handler.Classify(handler.Result{}, test.err, test.policy)
			if o.Kind != test.kind || o.Reason != test.reason || o.Message != test.err.Error() || o.Err != test.err {
				t.Errorf("got %+v: want %v, %q", o, test.kind, test.reason)
			}
		})
	}
}

// noErrors is a list of errors that is empty and yet not nil.
type noErrors struct{}

func (noErrors) Error() string   { return "no errors" }
func (noErrors) Unwrap() []error { return nil }

func TestAnIgnoredErrorLeavesTheResult(t *testing.T) {
	t.Parallel()
	result := handler.Result{Status: "x", Wait: new(time.Duration)}
	o := handler.Classify(result, errPlain, handler.IgnoreError)
	if o.Kind != handler.Waiting || o.Payload != "x" || o.Err != errPlain {
		t.Errorf("got %+v: want what the result says, and the error for the log", o)
	}
}

func TestPayloadsMerge(t *testing.T) {
	t.Parallel()
	status := func(payload any, options ...handler.Option) error {
		return handler.Temporary("later", append(options, handler.Status(payload))...)
	}
	for name, test := range map[string]struct {
		result any
		err    error
		want   any
	}{
		"of branches":                     {nil, errors.Join(status(object{"a": 1}), status(object{"b": 2})), object{"a": int64(1), "b": int64(2)}},
		"later over earlier branches":     {nil, errors.Join(status(object{"a": 1}), status(object{"a": 2})), object{"a": int64(2)}},
		"objects in objects":              {nil, errors.Join(status(object{"a": object{"x": 1}}), status(object{"a": object{"y": 2}})), object{"a": object{"x": int64(1), "y": int64(2)}}},
		"lists don't":                     {nil, errors.Join(status(object{"a": []int{1}}), status(object{"a": []int{2}})), object{"a": []any{int64(2)}}},
		"the outer over the cause's":      {nil, status(object{"a": 1}, handler.Because(status(object{"a": 2, "b": 2}))), object{"a": int64(1), "b": int64(2)}},
		"the cause's where outer has no":  {nil, handler.Permanent("no", handler.Because(status("x"))), "x"},
		"of temporary and permanent":      {nil, errors.Join(permanent, temporary), object{"zone": "x", "phase": "Pending"}},
		"a text replaces an object":       {nil, errors.Join(status(object{"a": 1}), status("x")), "x"},
		"the result's beside an error":    {object{"a": 1}, errPlain, object{"a": int64(1)}},
		"the error's over the result's":   {object{"a": 1, "b": 1}, status(object{"a": 2}), object{"a": int64(2), "b": int64(1)}},
		"nothing at all":                  {nil, errPlain, nil},
		"a nil pointer is nothing":        {nil, status((*time.Time)(nil)), nil},
		"an empty object is a payload":    {nil, status(struct{}{}), object{}},
		"null members stay":               {nil, status(object{"a": nil}), object{"a": nil}},
		"raw JSON":                        {json.RawMessage(`{"a":[1,1.5,true]}`), errPlain, object{"a": []any{int64(1), 1.5, true}}},
		"great integers are not rounded":  {nil, status(object{"a": int64(1<<53 + 1)}), object{"a": int64(1<<53 + 1)}},
		"what JSON escapes comes through": {nil, status("<&>\u2028"), "<&>\u2028"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := handler.Classify(handler.Result{Status: test.result}, test.err, handler.RetryError)
			if !reflect.DeepEqual(o.Payload, test.want) {
				t.Errorf("got %#v\nwant %#v (%s)", o.Payload, test.want, o.Message)
			}
		})
	}
}

func TestAPayloadIsCopied(t *testing.T) {
	t.Parallel()
	mine := object{"a": object{"b": "c"}}
	o := handler.Classify(handler.Result{Status: mine}, nil, 0)
	mine["a"].(object)["b"] = "changed"
	if !reflect.DeepEqual(o.Payload, any(object{"a": object{"b": "c"}})) {
		t.Errorf("got %v: the handler's later change has reached the outcome", o.Payload)
	}
}

// explosive is a payload whose encoding panics.
type explosive struct{ p *int }

func (e explosive) MarshalJSON() ([]byte, error) { return fmt.Append(nil, *e.p), nil }

func TestAPayloadThatDoesNotEncodeIsAPermanentFailure(t *testing.T) {
	t.Parallel()
	loop := object{}
	loop["self"] = loop
	for name, payload := range map[string]any{
		"a channel":          make(chan int),
		"no number":          math.NaN(),
		"no JSON":            json.RawMessage(`{`),
		"a number too large": json.RawMessage(`1e999`),
		"a loop":             loop,
		"a panic":            explosive{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range []handler.Outcome{
				handler.Classify(handler.Result{Status: payload}, nil, handler.RetryError),
				handler.Classify(handler.Result{}, handler.Temporary("later", handler.Status(payload)), handler.RetryError),
				handler.Classify(handler.Result{}, handler.Temporary("later", handler.Because(handler.Temporary("", handler.Status(payload)))), handler.IgnoreError),
				handler.Classify(handler.Result{Status: payload}, errPlain, handler.IgnoreError),
			} {
				if o.Kind != handler.Failed || o.Reason != handler.ReasonBadPayload || o.Payload != nil || o.After != nil {
					t.Errorf("got %+v: want a permanent %s", o, handler.ReasonBadPayload)
				}
				if !strings.Contains(o.Message, fmt.Sprintf("payload of type %T does not encode", payload)) {
					t.Errorf("got %q: want the payload's type", o.Message)
				}
			}
		})
	}
}

func TestABadPayloadDoesNotHideTheErrorItCameWith(t *testing.T) {
	t.Parallel()
	o := handler.Classify(handler.Result{Status: make(chan int)}, fmt.Errorf("issue: %w", errPlain), 0)
	if !errors.Is(o.Err, errPlain) || !strings.Contains(o.Message, "issue: connection refused") {
		t.Errorf("got %q: want the handler's own error, too", o.Message)
	}
}

func TestBadPatchKeepsThePayload(t *testing.T) {
	t.Parallel()
	o := handler.BadPatch(handler.Classify(handler.Wait(time.Hour), nil, 0), errPlain)
	if o.Kind != handler.Failed || o.Reason != handler.ReasonBadPatch || o.After != nil || o.Err != errPlain {
		t.Errorf("got %+v", o)
	}
	if o = handler.BadPatch(handler.Outcome{Payload: "x"}, errPlain); o.Payload != "x" {
		t.Errorf("got payload %v", o.Payload)
	}
}

func TestOutcomeKindsReadAsStates(t *testing.T) {
	t.Parallel()
	for kind, want := range map[handler.OutcomeKind]string{
		handler.Succeeded: "Succeeded", handler.Waiting: "Waiting", handler.Retrying: "Retrying", handler.Failed: "Failed",
	} {
		if got := kind.String(); got != want {
			t.Errorf("got %q: want %q", got, want)
		}
	}
}
