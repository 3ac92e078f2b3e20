package handler_test

import (
	"context"
	"fmt"
	"testing"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

// Phase is the payload of the examples: what their handlers show in status.
type Phase struct {
	Phase string `json:"phase"`
}

// dns stands for a service of your own.
type dns map[string]string

func (d dns) Publish(_ context.Context, name, target string) error {
	d[name] = target
	return nil
}

// publish is a whole operator but for its main function: it publishes the names
// of cert-manager's Certificates, whose CRD it doesn't own.
type publish struct{ dns dns }

// AddTo registers the handlers; an operator is a handler.Registry.
func (p *publish) AddTo(op handler.Registry) {
	spec := handler.Spec{ID: "publish", On: handler.Create | handler.Update, Retry: handler.Retry{Limit: 10}}
	handler.Register(op, spec, p.Handle)
}

// Handle runs for each new and each changed Certificate.
func (p *publish) Handle(ctx context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
	if len(req.Object.Spec.DNSNames) == 0 {
		return handler.Result{}, handler.Permanent("the certificate has no names", handler.Status(Phase{"Invalid"}))
	}
	for _, name := range req.Object.Spec.DNSNames {
		if err := p.dns.Publish(ctx, name, "lb.example.com"); err != nil {
			return handler.Result{}, fmt.Errorf("publish %s: %w", name, err) // runs again after a back-off
		}
	}
	return handler.Result{Status: Phase{"Published"}}, nil
}

// A handler of an operator for cert-manager's Certificates. Here it is run as
// in a test; with an operator, AddTo is all that it takes.
func Example() {
	records := dns{}
	p := &publish{records}
	spec := handler.Spec{ID: "publish", On: handler.Create | handler.Update}
	c := &cmapi.Certificate{Spec: cmapi.CertificateSpec{DNSNames: []string{"shop.example.com"}}}

	fmt.Println(handlertest.Run(t, spec, p.Handle, c, handlertest.Options{}))
	fmt.Println(records)

	c.Spec.DNSNames = nil
	fmt.Println(handlertest.Run(t, spec, p.Handle, c, handlertest.Options{}))
	// Output:
	// Succeeded
	// payload: {"phase":"Published"}
	// map[shop.example.com:lb.example.com]
	// Failed (Error): the certificate has no names
	// payload: {"phase":"Invalid"}
}

// example stands for the *testing.T of a test.
type example struct{ testing.TB }

func (example) Helper()                           {}
func (example) Context() context.Context          { return context.Background() }
func (example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (example) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

var t example

// newCertificate is the object of the examples.
func newCertificate() *cmapi.Certificate {
	return &cmapi.Certificate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       cmapi.CertificateSpec{DNSNames: []string{"shop.example.com"}},
	}
}
