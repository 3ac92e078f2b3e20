package handler_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

var errRateLimited = errors.New("429 Too Many Requests")

// order is three calls deep, knows best what has to happen, and says so.
func order(string) error {
	return handler.Temporary("the account is busy",
		handler.Reason("RateLimited"),
		handler.After(30*time.Second),
		handler.Status(Phase{"Pending"}),
		handler.Because(errRateLimited))
}

// issue knows nothing of handlers.
func issue(names []string) error {
	var errs []error
	for _, name := range names {
		if err := order(name); err != nil {
			errs = append(errs, fmt.Errorf("order %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// A temporary error may come from any depth, with the delay and the payload,
// through code that only wraps and joins.
func ExampleTemporary() {
	provision := func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		if err := issue(req.Object.Spec.DNSNames); err != nil {
			return handler.Result{}, fmt.Errorf("issue: %w", err)
		}
		return handler.Result{Status: Phase{"Ready"}}, nil
	}
	spec := handler.Spec{ID: "provision", On: handler.Create}
	outcome := handlertest.Run(t, spec, provision, newCertificate(), handlertest.Options{})
	fmt.Println(outcome)
	fmt.Println(errors.Is(outcome.Err, errRateLimited))
	// Output:
	// Retrying in 30s (RateLimited): issue: order shop.example.com: the account is busy: 429 Too Many Requests
	// payload: {"phase":"Pending"}
	// true
}

// After a permanent error the handler does not run again until the object
// changes, or a person asks for it.
func ExamplePermanent() {
	provision := func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		if req.Object.Spec.IsCA {
			return handler.Result{}, handler.Permanent("CA certificates are not allowed here", handler.Reason("Forbidden"))
		}
		return handler.Result{}, nil
	}
	c := newCertificate()
	c.Spec.IsCA = true
	spec := handler.Spec{ID: "provision", On: handler.Create}
	fmt.Println(handlertest.Run(t, spec, provision, c, handlertest.Options{}))
	// Output: Failed (Forbidden): CA certificates are not allowed here
}

// The last attempt is the time to clean up.
func ExampleInfo_lastAttempt() {
	provision := func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		phase := Phase{"Pending"}
		if req.LastAttempt {
			phase = Phase{"GivenUp"}
		}
		return handler.Result{Status: phase}, errors.New("connection refused")
	}
	spec := handler.Spec{ID: "provision", On: handler.Create, Retry: handler.Retry{Limit: 3}}
	for attempt := 1; attempt <= 3; attempt++ {
		fmt.Println(handlertest.Run(t, spec, provision, newCertificate(), handlertest.Options{Attempt: attempt}))
	}
	// Output:
	// Retrying in 1s (Error): connection refused
	// payload: {"phase":"Pending"}
	// Retrying in 2s (Error): connection refused
	// payload: {"phase":"Pending"}
	// Failed (RetryLimitReached): connection refused
	// payload: {"phase":"GivenUp"}
}
