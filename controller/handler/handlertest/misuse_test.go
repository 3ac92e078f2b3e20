package handlertest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

// spy is a test that records its failures.
type spy struct {
	testing.TB
	failed, ended bool
	text          string
}

func (s *spy) Helper()                  {}
func (s *spy) Context() context.Context { return context.Background() }
func (s *spy) Failed() bool             { return s.failed }
func (s *spy) FailNow()                 { s.failed, s.ended = true, true; runtime.Goexit() }

func (s *spy) Errorf(format string, args ...any) {
	s.failed = true
	s.text += fmt.Sprintf(format, args...)
}

func (s *spy) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	s.FailNow()
}

// watch runs fn as a test would.
func watch(fn func(t testing.TB)) *spy {
	var s spy
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(&s)
	}()
	<-done
	return &s
}

func TestRunFailsWhereAnOperatorWouldNotRunTheHandler(t *testing.T) {
	t.Parallel()
	run := func(change func(s *handler.Spec), o options, when ...handler.RegisterOption[*cmapi.Certificate]) func(t testing.TB) {
		return func(t testing.TB) {
			s := spec()
			change(&s)
			handlertest.Run(t, s, returns(handler.Result{}), newCertificate(), o, when...)
		}
	}
	same := func(*handler.Spec) {}
	for name, test := range map[string]struct {
		run  func(t testing.TB)
		want string
	}{
		"not valid":            {run(func(s *handler.Spec) { s.ID = "-" }, options{}), "want 1 to 253 letters"},
		"no path":              {run(func(s *handler.Spec) { s.Fields = []string{"a..b"} }, options{}), "Fields"},
		"not for the cause":    {run(same, options{Cause: handler.Resume}), `the cause is Resume, but handler "myapp" is declared for Create|Update|Delete`},
		"two causes":           {run(same, options{Cause: handler.Create | handler.Update}), "the cause is Create|Update, but"},
		"labels differ":        {run(func(s *handler.Spec) { s.Labels = "app=web" }, options{}), `handler "myapp" does not select the object`},
		"another namespace":    {run(func(s *handler.Spec) { s.Namespaces = []string{"other"} }, options{}), "does not select the object"},
		"predicate":            {run(same, options{}, handler.When(func(*cmapi.Certificate) bool { return false })), "does not select the object"},
		"predicate panics":     {run(same, options{}, handler.When(func(*cmapi.Certificate) bool { panic("boom") })), "panic: boom"},
		"old, but no Diff":     {run(func(s *handler.Spec) { s.Diff = false }, options{Old: newCertificate()}), "Options.Old is set, but Spec.Diff is not"},
		"payload not encoding": {run(same, options{Payloads: map[string]any{"x": make(chan int)}}), "encode chan int"},
		"no object": {func(t testing.TB) {
			handlertest.Run(t, spec(), returns(handler.Result{}), nil, options{})
		}, "the object is *v1.Certificate(nil)"},
		"no handler":   {func(t testing.TB) { handlertest.Run(t, spec(), nil, newCertificate(), options{}) }, "the function is nil"},
		"kind unknown": {func(t testing.TB) { handlertest.Selects(t, spec(), &unstructured.Unstructured{}) }, "set Spec.Kind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s := watch(test.run); !s.ended || !strings.Contains(s.text, test.want) {
				t.Errorf("ended %v with %q: want %q", s.ended, s.text, test.want)
			}
		})
	}
}

func TestATestThatEndsInTheHandlerEnds(t *testing.T) {
	t.Parallel()
	reached := false
	s := watch(func(t testing.TB) {
		handlertest.Run(t, spec(), func(context.Context, *request) (handler.Result, error) {
			t.Fatalf("no such zone")
			return handler.Result{}, nil
		}, newCertificate(), options{})
		reached = true
	})
	if reached || !s.failed || s.text != "no such zone" {
		t.Errorf("went on: %v, failed: %v, said: %q", reached, s.failed, s.text)
	}
}

func TestWantsSayWhatTheyGot(t *testing.T) {
	t.Parallel()
	type outcome = handlertest.Outcome[*cmapi.Certificate]
	errPlain := errors.New("refused")
	got := handlertest.Run(t, spec(), fails(handler.Temporary("not ready", handler.Because(errPlain), handler.Status([]int{1}))), newCertificate(), options{})
	ended := got
	ended.Interrupted = true
	empty := outcome{}
	for name, test := range map[string]struct {
		want func(t testing.TB)
		text string // empty: holds
	}{
		"retrying":           {got.WantRetrying, ""},
		"succeeded":          {got.WantSucceeded, "want: success"},
		"waiting":            {got.WantWaiting, "want: waiting"},
		"failed":             {got.WantFailed, "want: failure for good"},
		"interrupted":        {got.WantInterrupted, "counts for nothing"},
		"but interrupted":    {ended.WantRetrying, "Retrying, but interrupted"},
		"interrupted, holds": {ended.WantInterrupted, ""},
		"the delay":          {func(t testing.TB) { got.WantDelay(t, time.Second) }, ""},
		"another delay":      {func(t testing.TB) { got.WantDelay(t, time.Minute) }, "want: a delay of 1m0s"},
		"the reason":         {func(t testing.TB) { got.WantReason(t, "Error") }, ""},
		"another reason":     {func(t testing.TB) { got.WantReason(t, "Own") }, `want: reason "Own"`},
		"the error":          {func(t testing.TB) { got.WantError(t, errPlain) }, ""},
		"another error":      {func(t testing.TB) { got.WantError(t, handler.ErrExited) }, "want: error"},
		"the payload":        {func(t testing.TB) { got.WantPayload(t, []int{1}) }, ""},
		"another payload":    {func(t testing.TB) { got.WantPayload(t, []int{2}) }, "want: payload [2]"},
		"a payload at all":   {func(t testing.TB) { empty.WantPayload(t, []int{2}) }, "want: payload [2]"},
		"no payload":         {func(t testing.TB) { empty.WantPayload(t, nil) }, ""},
		"decoding":           {func(t testing.TB) { got.DecodePayload(t, new([]int)) }, ""},
		"decoding otherwise": {func(t testing.TB) { got.DecodePayload(t, new(string)) }, "does not decode as *string"},
		"decoding nothing":   {func(t testing.TB) { empty.DecodePayload(t, new(string)) }, "left no payload"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := watch(test.want)
			if s.failed != (test.text != "") || !strings.Contains(s.text, test.text) {
				t.Errorf("got %q: want %q", s.text, test.text)
			}
			if s.failed && !strings.Contains(s.text, "\ngot: ") {
				t.Errorf("got %q: want also what the outcome was", s.text)
			}
		})
	}
}

func TestSelects(t *testing.T) {
	t.Parallel()
	c := newCertificate()
	c.Labels = map[string]string{"app": "web"}
	c.Annotations = map[string]string{"example.com/skip": "true"}
	for name, test := range map[string]struct {
		spec handler.Spec
		want bool
	}{
		"all":         {handler.Spec{}, true},
		"labels":      {handler.Spec{Labels: "app in (web)"}, true},
		"not labels":  {handler.Spec{Labels: "app!=web"}, false},
		"annotation":  {handler.Spec{Annotations: map[string]handler.Match{"example.com/skip": handler.Present}}, true},
		"no such one": {handler.Spec{Annotations: map[string]handler.Match{"example.com/skip": handler.Absent}}, false},
		"namespace":   {handler.Spec{Namespaces: []string{"shop"}}, true},
		"another":     {handler.Spec{Namespaces: []string{"other"}}, false},
	} {
		test.spec.ID, test.spec.On = "h", handler.Create
		if got := handlertest.Selects(t, test.spec, c); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	usages := handler.When(func(c *cmapi.Certificate) bool { return len(c.Spec.Usages) > 0 })
	if handlertest.Selects(t, spec(), c, usages) {
		t.Error("the predicate has no say")
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s := handler.Spec{ID: "d", On: handler.Create, Namespaces: []string{"shop"}}
	name := func(c *cmapi.Certificate, a handler.Admission) error {
		switch a.User {
		case "nobody":
			return errors.New("no")
		case "":
			panic("boom")
		}
		c.Spec.SecretName, c.Spec.CommonName = "other", "web.example"
		return nil
	}
	c := newCertificate()
	got, err := handlertest.Defaults(t, s, name, c, handler.Admission{User: "jane"})
	if err != nil || got.Spec.SecretName != "web-tls" || got.Spec.CommonName != "web.example" || c.Spec.CommonName != "" {
		t.Errorf("got %+v, %v: want only what was absent, on a copy", got.Spec, err)
	}
	for user, want := range map[string]string{"nobody": "no", "": "panic: boom"} {
		got, err = handlertest.Defaults(t, s, name, c, handler.Admission{User: user})
		if err == nil || !strings.Contains(err.Error(), want) || got.Spec.CommonName != "" {
			t.Errorf("got %+v, %v: want the object as it was and %q", got, err, want)
		}
	}
	c.Namespace = "other"
	if got, err = handlertest.Defaults(t, s, name, c, handler.Admission{User: "jane"}); err != nil || got.Spec.CommonName != "" {
		t.Errorf("got %+v, %v: want an object that is not selected as it was", got.Spec, err)
	}
	spied := watch(func(t testing.TB) {
		_, _ = handlertest.Defaults(t, s, name, c, handler.Admission{Operation: handler.Update})
	})
	if !strings.Contains(spied.text, "the operation is Update, but") {
		t.Errorf("got %q", spied.text)
	}
}

func TestMetadataOnly(t *testing.T) {
	t.Parallel()
	kind := cmapi.SchemeGroupVersion.WithKind("Certificate")
	s := handler.Spec{ID: "m", On: handler.Create, Kind: kind}
	o := handlertest.Run(t, s, func(_ context.Context, req *handler.Request[*metav1.PartialObjectMetadata]) (handler.Result, error) {
		req.Patch.SetLabel("seen", "true")
		return handler.Result{Status: req.Object.GroupVersionKind()}, nil
	}, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, options{})
	o.WantPayload(t, kind)
	if o.Object.Labels["seen"] != "true" {
		t.Errorf("got %v", o.Object.Labels)
	}
}
