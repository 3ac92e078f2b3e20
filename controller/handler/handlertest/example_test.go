package handlertest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

type phase struct {
	Phase string `json:"phase"`
}

var provisionSpec = handler.Spec{ID: "provision", On: handler.Create, Retry: handler.Retry{Limit: 5}}

// provision is the handler under test.
func provision(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
	if req.Object.Spec.IssuerRef.Name == "" {
		return handler.Result{}, handler.Permanent("no issuer", handler.Reason("NoIssuer"))
	}
	if req.Attempt < 3 {
		err := errors.New("connection refused")
		return handler.Result{}, handler.Temporary("issuer not ready", handler.After(30*time.Second), handler.Status(phase{"Pending"}), handler.Because(err))
	}
	req.Patch.SetLabel("provisioned", "true")
	return handler.Result{Status: phase{"Ready"}}, nil
}

// inExample stands for the *testing.T of a test.
type inExample struct{ testing.TB }

func (inExample) Helper()                  {}
func (inExample) Context() context.Context { return context.Background() }

// The second attempt of a handler that takes three.
func ExampleRun() {
	t := inExample{} // of the test

	c := &cmapi.Certificate{}
	c.Spec.IssuerRef.Name = "ca"
	outcome := handlertest.Run(t, provisionSpec, provision, c, handlertest.Options{Attempt: 2})

	outcome.WantRetrying(t)
	outcome.WantDelay(t, 30*time.Second)
	outcome.WantPayload(t, phase{"Pending"})
	fmt.Println(outcome)
	// Output:
	// Retrying in 30s (Error): issuer not ready: connection refused
	// payload: {"phase":"Pending"}
}
