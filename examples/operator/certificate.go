package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

	"github.com/dogear-dev/dogear/controller/handler"
)

// Domain is where the names of a Certificate must lie.
const Domain = "example.com"

// RetryAfter is how long the certificate authority asks to wait.
const RetryAfter = 1500 * time.Millisecond

// Verdict is the payload of the handler "policy".
type Verdict struct {
	Allowed bool   `json:"allowed"`
	Name    string `json:"name,omitempty"` // the first that is not
}

// Phase is the payload of the handler "provision".
type Phase struct {
	Phase   string `json:"phase"`
	Attempt int    `json:"attempt,omitempty"`
}

func registerCertificates(r handler.Registry, namespaces []string) {
	handler.Defaults(r, handler.Spec{ID: "secret-name", On: handler.Create, Namespaces: namespaces}, secretName)
	handler.Register(r, handler.Spec{
		ID: "policy", On: handler.Create | handler.Update, Namespaces: namespaces,
	}, policy)
	handler.Register(r, handler.Spec{
		ID: "provision", On: handler.Create | handler.Update, Namespaces: namespaces,
		Retry: handler.Retry{Limit: 10},
	}, provision, handler.When(func(c *cmapi.Certificate) bool { return forbidden(c) == "" }))
}

// secretName is a default, set in the webhook: the CRD requires the field, and
// yet nobody needs to write it any more.
func secretName(c *cmapi.Certificate, _ handler.Admission) error {
	if c.Spec.SecretName == "" && c.Name != "" {
		c.Spec.SecretName = c.Name + "-tls"
	}
	return nil
}

// policy fails for good where a name lies elsewhere: another attempt would end
// the same way. It is due again as soon as somebody changes the Certificate.
func policy(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
	if name := forbidden(req.Object); name != "" {
		return handler.Result{}, handler.Permanent(fmt.Sprintf("%q is not below %s", name, Domain),
			handler.Reason("NameNotAllowed"), handler.Status(Verdict{Name: name}))
	}
	return handler.Result{Status: Verdict{Allowed: true}}, nil
}

func forbidden(c *cmapi.Certificate) string {
	for _, name := range c.Spec.DNSNames {
		if name != Domain && !strings.HasSuffix(name, "."+Domain) {
			return name
		}
	}
	return ""
}

// provision succeeds once the certificate authority has issued. It says nothing
// about retries: the error that comes from below does.
func provision(ctx context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
	if err := obtain(ctx, req.Object, req.Attempt); err != nil {
		return handler.Result{}, fmt.Errorf("obtain a certificate: %w", err)
	}
	return handler.Result{Status: Phase{Phase: "Ready"}}, nil
}

func obtain(ctx context.Context, c *cmapi.Certificate, attempt int) error {
	for _, name := range c.Spec.DNSNames {
		if err := order(ctx, name, attempt); err != nil {
			return fmt.Errorf("order %s: %w", name, err)
		}
	}
	return ctx.Err()
}

func order(_ context.Context, _ string, attempt int) error {
	return authorityAnswer(attempt)
}

// authorityAnswer is three calls deep, and knows best what is to be done next
// and what people should see meanwhile.
func authorityAnswer(attempt int) error {
	if attempt <= 2 {
		return handler.Temporary("the authority is not done yet", handler.Reason("NotIssued"),
			handler.After(RetryAfter), handler.Status(Phase{Phase: "Pending", Attempt: attempt}))
	}
	return nil
}
