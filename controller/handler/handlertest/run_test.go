package handlertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

type (
	request = handler.Request[*cmapi.Certificate]
	fn      = func(context.Context, *request) (handler.Result, error)
	options = handlertest.Options
)

func newCertificate() *cmapi.Certificate {
	return &cmapi.Certificate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       cmapi.CertificateSpec{SecretName: "web-tls", DNSNames: []string{"a.example"}},
	}
}

func spec() handler.Spec {
	return handler.Spec{ID: "myapp", On: handler.Create | handler.Update | handler.Delete, Diff: true}
}

func fails(err error) fn {
	return func(context.Context, *request) (handler.Result, error) { return handler.Result{}, err }
}

func returns(result handler.Result) fn {
	return func(context.Context, *request) (handler.Result, error) { return result, nil }
}

// received is the request that a handler gets.
func received(t *testing.T, s handler.Spec, c *cmapi.Certificate, o options) *request {
	t.Helper()
	var got *request
	handlertest.Run(t, s, func(_ context.Context, req *request) (handler.Result, error) {
		got = req
		return handler.Result{}, nil
	}, c, o).WantSucceeded(t)
	return got
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	plain := errors.New("connection refused")
	limited := spec()
	limited.Retry = handler.Retry{Limit: 3, Timeout: time.Hour}
	failing, ignoring := spec(), spec()
	failing.OnError, ignoring.OnError = handler.FailError, handler.IgnoreError
	for name, test := range map[string]struct {
		spec   handler.Spec
		fn     fn
		opts   options
		kind   handler.OutcomeKind
		delay  time.Duration
		reason string
	}{
		"success":                     {spec(), returns(handler.Result{}), options{}, handler.Succeeded, 0, ""},
		"waiting":                     {spec(), returns(handler.Wait(time.Minute)), options{}, handler.Waiting, time.Minute, ""},
		"waiting on the last attempt": {limited, returns(handler.Wait(time.Minute)), options{Attempt: 3}, handler.Waiting, time.Minute, ""},
		"a plain error backs off":     {spec(), fails(plain), options{}, handler.Retrying, time.Second, handler.ReasonError},
		"longer each time":            {spec(), fails(plain), options{Attempt: 4}, handler.Retrying, 8 * time.Second, handler.ReasonError},
		"up to the longest":           {spec(), fails(plain), options{Attempt: 100}, handler.Retrying, 5 * time.Minute, handler.ReasonError},
		"a plain error fails":         {failing, fails(plain), options{}, handler.Failed, 0, handler.ReasonError},
		"a plain error is ignored":    {ignoring, fails(plain), options{}, handler.Succeeded, 0, ""},
		"a delay of its own":          {spec(), fails(handler.Temporary("x", handler.After(time.Minute))), options{}, handler.Retrying, time.Minute, handler.ReasonError},
		"at most a day":               {spec(), fails(handler.Temporary("x", handler.After(99*time.Hour))), options{}, handler.Retrying, 24 * time.Hour, handler.ReasonError},
		"permanent":                   {spec(), fails(handler.Permanent("x", handler.Reason("Own"))), options{}, handler.Failed, 0, "Own"},
		"the last but one attempt":    {limited, fails(plain), options{Attempt: 2}, handler.Retrying, 2 * time.Second, handler.ReasonError},
		"the last attempt":            {limited, fails(plain), options{Attempt: 3}, handler.Failed, 0, "RetryLimitReached"},
		"beyond the time limit": {
			limited, fails(plain), options{Started: handlertest.DefaultNow.Add(-time.Hour)}, handler.Failed, 0, "TimedOut",
		},
		"a bad payload": {spec(), returns(handler.Result{Status: make(chan int)}), options{}, handler.Failed, 0, handler.ReasonBadPayload},
		"a panic":       {spec(), func(context.Context, *request) (handler.Result, error) { panic("boom") }, options{}, handler.Retrying, time.Second, handler.ReasonPanicked},
		"a bad patch": {spec(), func(_ context.Context, req *request) (handler.Result, error) {
			req.Patch.SetAnnotation("dogear.dev/handled", "{}")
			return handler.Result{}, nil
		}, options{}, handler.Failed, 0, handler.ReasonBadPatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := handlertest.Run(t, test.spec, test.fn, newCertificate(), test.opts)
			if o.Kind != test.kind || o.Interrupted {
				t.Errorf("want: %v\ngot: %s", test.kind, o)
			}
			o.WantDelay(t, test.delay)
			o.WantReason(t, test.reason)
		})
	}
}

func TestAnAttemptTimesOut(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Timeout = time.Minute
	for name, test := range map[string]struct {
		takes     time.Duration
		heeds     bool
		abandoned bool
	}{"heeding its context": {time.Hour, true, false}, "ignoring it": {time.Hour, false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := handlertest.Run(t, s, func(ctx context.Context, _ *request) (handler.Result, error) {
					if test.heeds {
						<-ctx.Done()
						return handler.Result{}, ctx.Err()
					}
					time.Sleep(test.takes)
					return handler.Result{}, nil
				}, newCertificate(), options{})
				o.WantRetrying(t)
				o.WantReason(t, handler.ReasonTimedOut)
				if errors.Is(o.Err, handler.ErrAbandoned) != test.abandoned {
					t.Errorf("got %v: want abandoned %v", o.Err, test.abandoned)
				}
				<-o.Done
			})
		})
	}
}

func TestAnEndedContextInterrupts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	handlertest.Run(t, spec(), func(ctx context.Context, _ *request) (handler.Result, error) {
		return handler.Result{}, ctx.Err()
	}, newCertificate(), options{Context: ctx}).WantInterrupted(t)
	handlertest.Run(t, spec(), returns(handler.Result{}), newCertificate(), options{Context: ctx}).WantSucceeded(t)
}

func TestTheZeroOptionsAreTheFirstAttempt(t *testing.T) {
	t.Parallel()
	got := received(t, spec(), newCertificate(), options{})
	if got.HandlerID != "myapp" || got.Cause != handler.Create || got.Attempt != 1 || got.LastAttempt || !got.Started.Equal(handlertest.DefaultNow) {
		t.Errorf("got %+v", got.Info)
	}
	if !got.Deadline.IsZero() || got.Fence != 1 || got.By != "" || len(got.Payloads) != 0 || got.IdempotencyID == "" || got.Known || got.Old != nil {
		t.Errorf("got %+v", got.Info)
	}
	if c := got.Object; c.UID == "" || c.Generation != 1 || c.ResourceVersion == "" || c.Name != "web" || c.Spec.SecretName != "web-tls" {
		t.Errorf("got %+v: want what a stored object has", c)
	}
}

func TestOptionsReachTheHandler(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Retry = handler.Retry{Limit: 3, Timeout: time.Hour}
	started := handlertest.DefaultNow.Add(-time.Minute)
	got := received(t, s, newCertificate(), options{
		Cause: handler.Update, Attempt: 3, Started: started, IdempotencyID: "i", Fence: 7, By: "jane",
		Payloads: map[string]any{"dns": map[string]any{"zone": "z"}, "myapp": "mine"},
	})
	want := handler.Info{
		HandlerID: "myapp", Cause: handler.Update, Attempt: 3, LastAttempt: true, Started: started, Deadline: started.Add(time.Hour),
		IdempotencyID: "i", Fence: 7, By: "jane", Patch: got.Patch,
		Payloads: map[string]json.RawMessage{"dns": json.RawMessage(`{"zone":"z"}`), "myapp": json.RawMessage(`"mine"`)},
	}
	if !reflect.DeepEqual(got.Info, want) {
		t.Errorf("got  %+v\nwant %+v", got.Info, want)
	}
}

func TestTheCauseFollowsTheObject(t *testing.T) {
	t.Parallel()
	deleted := newCertificate()
	deleted.DeletionTimestamp = &metav1.Time{Time: handlertest.DefaultNow}
	if got := received(t, spec(), deleted, options{Old: newCertificate()}); got.Cause != handler.Delete {
		t.Errorf("got %s of an object being deleted", got.Cause)
	}
	if got := received(t, spec(), newCertificate(), options{Old: newCertificate()}); got.Cause != handler.Update {
		t.Errorf("got %s with an old object", got.Cause)
	}
	got := received(t, spec(), newCertificate(), options{Cause: handler.Delete})
	if got.Object.DeletionTimestamp == nil || len(got.Object.Finalizers) == 0 {
		t.Errorf("got %+v: want an object being deleted", got.Object.ObjectMeta)
	}
	if got := received(t, handler.Spec{ID: "r", On: handler.Resume}, newCertificate(), options{}); got.Cause != handler.Resume {
		t.Errorf("got %s: want the only one declared", got.Cause)
	}
}

func TestOldMakesChangesKnown(t *testing.T) {
	t.Parallel()
	old := newCertificate()
	old.Spec.DNSNames = []string{"old.example"}
	old.Labels = map[string]string{"example.com/team": "a"}
	old.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	old.Status.Revision = new(int)
	old.ResourceVersion, old.Generation = "7", 7
	got := received(t, spec(), newCertificate(), options{Old: old})
	want := []handler.Change{
		{Path: "metadata.labels['example.com/team']", Old: "a"},
		{Path: "spec.dnsNames", Old: []any{"old.example"}, New: []any{"a.example"}},
	}
	if !got.Known || !reflect.DeepEqual(got.Changes, want) {
		t.Errorf("got  %v\nwant %v: what is no part of the essence does not count", got.Changes, want)
	}
	if got.Old.Spec.DNSNames[0] != "old.example" || got.Old.Status.Revision != nil || got.Old.Name != "web" {
		t.Errorf("got %+v: want the old essence", got.Old)
	}
}

func TestTheOwnPayloadIsReadFromStatus(t *testing.T) {
	t.Parallel()
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"replicas": 3},
		"status": map[string]any{"myapp": map[string]any{"phase": "Ready"}},
	}}
	s := handler.Spec{ID: "myapp", On: handler.Create, Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}}
	o := handlertest.Run(t, s, func(_ context.Context, req *handler.Request[*unstructured.Unstructured]) (handler.Result, error) {
		return handler.Result{Status: req.Payloads}, nil
	}, u, options{})
	o.WantPayload(t, map[string]any{"myapp": map[string]any{"phase": "Ready"}})
	if o.Object.GetKind() != "Thing" || o.Object.GetAPIVersion() != "example.com/v1" {
		t.Errorf("got %s %s: want the kind that is declared", o.Object.GetAPIVersion(), o.Object.GetKind())
	}
}

func TestThePatchIsAppliedToACopy(t *testing.T) {
	t.Parallel()
	c := newCertificate()
	c.Labels = map[string]string{"old": "x", "kept": "x"}
	before := c.DeepCopy()
	o := handlertest.Run(t, spec(), func(_ context.Context, req *request) (handler.Result, error) {
		req.Object.Name = "changed"
		req.Patch.SetLabel("new", "x")
		req.Patch.RemoveLabel("old")
		return handler.Result{}, errors.Join(handler.Permanent("no"), req.Patch.SetSpec([]string{"b.example"}, "dnsNames"))
	}, c, options{})
	o.WantFailed(t)
	if want := map[string]string{"kept": "x", "new": "x"}; !reflect.DeepEqual(o.Object.Labels, want) || o.Object.Spec.DNSNames[0] != "b.example" || o.Object.Name != "web" {
		t.Errorf("got %v, %v: want the patch, and only that", o.Object.Labels, o.Object.Spec.DNSNames)
	}
	if o.Patch["spec"] == nil || !reflect.DeepEqual(c, before) {
		t.Errorf("got %v; the given object is %v", o.Patch, c)
	}
}

func TestTheKindIsLookedUp(t *testing.T) {
	t.Parallel()
	o := handlertest.Run(t, handler.Spec{ID: "h", On: handler.Create}, func(_ context.Context, req *handler.Request[*corev1.Service]) (handler.Result, error) {
		return handler.Result{Status: req.Object.APIVersion + " " + req.Object.Kind}, nil
	}, &corev1.Service{}, options{})
	o.WantPayload(t, "v1 Service")
}

func TestStringTellsAll(t *testing.T) {
	t.Parallel()
	o := handlertest.Run(t, spec(), fails(handler.Temporary("not ready", handler.Status("x"), handler.After(time.Minute), handler.Reason("Own"))), newCertificate(), options{})
	if got, want := o.String(), "Retrying in 1m0s (Own): not ready\npayload: \"x\""; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o = handlertest.Run(t, spec(), func(context.Context, *request) (handler.Result, error) { panic("boom") }, newCertificate(), options{})
	if got := o.String(); !strings.Contains(got, "panic: boom\n") || !strings.Contains(got, "run_test.go") {
		t.Errorf("got %s: want the panic and its stack", got)
	}
}
