package handler_test

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"testing"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/dogear-dev/dogear/controller/handler"
)

var (
	errPlain  = errors.New("connection refused")
	temporary = handler.Temporary("not ready", handler.Reason("NotReady"), handler.After(30*time.Second), handler.Status(object{"phase": "Pending"}))
	permanent = handler.Permanent("no such zone", handler.Reason("NoZone"), handler.Status(object{"zone": "x"}))
)

type object = map[string]any

// wrapped is an error of another package's type.
type wrapped struct{ inner error }

func (w wrapped) Error() string { return "wrapped: " + w.inner.Error() }
func (w wrapped) Unwrap() error { return w.inner }

func TestErrorsAreFoundAtAnyDepth(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"itself":            temporary,
		"wrapped by %w":     fmt.Errorf("issue: %w", fmt.Errorf("acme: %w", temporary)),
		"by another type":   wrapped{fmt.Errorf("acme: %w", wrapped{temporary})},
		"alone in a join":   errors.Join(nil, temporary),
		"in a join, deep":   fmt.Errorf("a: %w", errors.Join(fmt.Errorf("b: %w", temporary))),
		"in two %w":         fmt.Errorf("%w: %w", errPlain, temporary),
		"in an Aggregate":   utilerrors.NewAggregate([]error{errPlain, wrapped{temporary}}),
		"beneath Because":   handler.Temporary("", handler.Because(wrapped{temporary})),
		"joined with plain": errors.Join(errPlain, temporary, errPlain),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := handler.Classify(handler.Result{}, err, handler.IgnoreError)
			if o.Kind != handler.Retrying || o.Reason != "NotReady" || o.After == nil || *o.After != 30*time.Second {
				t.Errorf("got %+v: want the temporary error's reason and delay", o)
			}
			if !reflect.DeepEqual(o.Payload, any(object{"phase": "Pending"})) {
				t.Errorf("got payload %v: want the temporary error's", o.Payload)
			}
			if o.Message != err.Error() || !errors.Is(o.Err, temporary) {
				t.Errorf("got message %q: want the whole text", o.Message)
			}
		})
	}
}

func TestPermanentOnlyIfEveryBranchIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		policy handler.ErrorPolicy
		want   handler.OutcomeKind
		reason string
	}{
		"one":                                  {permanent, 0, handler.Failed, "NoZone"},
		"all":                                  {errors.Join(permanent, fmt.Errorf("b: %w", permanent)), 0, handler.Failed, "NoZone"},
		"one is temporary":                     {errors.Join(permanent, temporary), 0, handler.Retrying, "NotReady"},
		"one is plain, retried":                {errors.Join(permanent, errPlain), handler.RetryError, handler.Retrying, handler.ReasonError},
		"one is plain, failing":                {errors.Join(permanent, errPlain), handler.FailError, handler.Failed, "NoZone"},
		"one is plain, ignored":                {errors.Join(errPlain, permanent), handler.IgnoreError, handler.Failed, "NoZone"},
		"nested branches":                      {errors.Join(permanent, errors.Join(permanent, wrapped{temporary})), 0, handler.Retrying, "NotReady"},
		"of an Aggregate":                      {utilerrors.NewAggregate([]error{permanent, permanent}), 0, handler.Failed, "NoZone"},
		"of a chain the outermost, permanent":  {handler.Permanent("gave up", handler.Because(temporary)), 0, handler.Failed, "NotReady"},
		"of a chain the outermost, temporary":  {handler.Temporary("hope", handler.Because(permanent)), 0, handler.Retrying, "NoZone"},
		"the outer reason goes first":          {handler.Temporary("hope", handler.Reason("Own"), handler.Because(permanent)), 0, handler.Retrying, "Own"},
		"a plain cause has no say":             {handler.Permanent("no", handler.Because(errPlain)), handler.RetryError, handler.Failed, handler.ReasonError},
		"a permanent error with a panic below": {handler.Permanent("no", handler.Because(&handler.PanicError{Value: 1})), 0, handler.Failed, handler.ReasonPanicked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := handler.Classify(handler.Result{}, test.err, test.policy)
			if o.Kind != test.want || o.Reason != test.reason {
				t.Errorf("got %v, %s: want %v, %s", o.Kind, o.Reason, test.want, test.reason)
			}
			if test.policy == handler.RetryError && handler.IsPermanent(test.err) != (test.want == handler.Failed) {
				t.Error("IsPermanent says otherwise")
			}
		})
	}
	if handler.IsPermanent(nil) || handler.IsPermanent(errPlain) {
		t.Error("IsPermanent holds for nil or a plain error")
	}
}

func TestTheShortestDelayGoes(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) error { return handler.Temporary("later", handler.After(d)) }
	for name, test := range map[string]struct {
		err  error
		want time.Duration // negative: none
	}{
		"of branches":             {errors.Join(after(time.Minute), after(time.Second), after(time.Hour)), time.Second},
		"zero is a delay":         {errors.Join(after(time.Minute), after(0)), 0},
		"none beside one":         {errors.Join(handler.Temporary("later"), after(time.Minute)), time.Minute},
		"a permanent one's not":   {errors.Join(after(time.Minute), handler.Permanent("no", handler.After(time.Second))), time.Minute},
		"none named":              {handler.Temporary("later"), -1},
		"of a cause":              {handler.Temporary("later", handler.Because(after(time.Minute))), time.Minute},
		"the outer before cause":  {handler.Temporary("later", handler.After(time.Hour), handler.Because(after(time.Minute))), time.Hour},
		"none of permanent":       {handler.Permanent("no", handler.After(time.Minute)), -1},
		"none of a plain error":   {errPlain, -1},
		"of a permanent's cause":  {handler.Permanent("no", handler.Because(after(time.Minute))), -1},
		"permanent cause, no say": {handler.Temporary("x", handler.Because(handler.Permanent("no", handler.After(time.Minute)))), -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := handler.Classify(handler.Result{}, test.err, handler.RetryError)
			got := time.Duration(-1)
			if o.After != nil {
				got = *o.After
			}
			if got != test.want {
				t.Errorf("got %s: want %s", got, test.want)
			}
		})
	}
}

func TestErrorTextAndChain(t *testing.T) {
	t.Parallel()
	err := handler.Temporary("read the key", handler.Because(fmt.Errorf("open: %w", fs.ErrNotExist)))
	if got := err.Error(); got != "read the key: open: file does not exist" {
		t.Errorf("got %q", got)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("errors.Is does not see through Because")
	}
	if got := handler.Permanent("", handler.Because(errPlain)).Error(); got != "connection refused" {
		t.Errorf("got %q: want the cause's text alone", got)
	}
	var own *handler.Error
	if !errors.As(fmt.Errorf("issue: %w", err), &own) {
		t.Error("errors.As does not find a *handler.Error")
	}
}
