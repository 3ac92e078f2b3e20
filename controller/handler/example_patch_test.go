package handler_test

import (
	"context"
	"fmt"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

// What a handler changes of the object is written with its outcome, in the
// same request. A change of req.Object itself goes nowhere.
func ExamplePatch() {
	adopt := func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		req.Patch.SetLabel("example.com/team", "shop")
		return handler.Result{}, req.Patch.SetSpec("720h", "duration")
	}
	spec := handler.Spec{ID: "adopt", On: handler.Create}
	outcome := handlertest.Run(t, spec, adopt, newCertificate(), handlertest.Options{})
	fmt.Println(outcome)
	fmt.Println(outcome.Object.Labels, outcome.Object.Spec.Duration.Duration == 30*24*time.Hour)
	// Output:
	// Succeeded
	// map[example.com/team:shop] true
}

// setDefaults is called in the webhook. It may set fields as it likes: only
// what the user has left out is taken.
func setDefaults(c *cmapi.Certificate, _ handler.Admission) error {
	c.Spec.SecretName = c.Name + "-tls"
	if c.Spec.PrivateKey == nil {
		c.Spec.PrivateKey = &cmapi.CertificatePrivateKey{}
	}
	c.Spec.PrivateKey.RotationPolicy = cmapi.RotationPolicyAlways
	return nil
}

// Defaults are registered like handlers.
func ExampleDefaults() {
	spec := handler.Spec{ID: "defaults", On: handler.Create}
	var op handler.Registry = &book{} // the operator
	handler.Defaults(op, spec, setDefaults)

	c := newCertificate()
	c.Spec.PrivateKey = &cmapi.CertificatePrivateKey{Algorithm: cmapi.RSAKeyAlgorithm, RotationPolicy: cmapi.RotationPolicyNever}
	got, err := handlertest.Defaults(t, spec, setDefaults, c, handler.Admission{User: "jane"})
	fmt.Println(got.Spec.SecretName, got.Spec.PrivateKey.Algorithm, got.Spec.PrivateKey.RotationPolicy, err)
	// Output: web-tls RSA Never <nil>
}

// When narrows a handler beyond what Spec can say. The predicate must look at
// the object alone, and not at its status.
func ExampleWhen() {
	wildcard := handler.When(func(c *cmapi.Certificate) bool {
		for _, name := range c.Spec.DNSNames {
			if name[0] == '*' {
				return true
			}
		}
		return false
	})
	spec := handler.Spec{ID: "wildcard", On: handler.Create}
	var op handler.Registry = &book{} // the operator
	handler.Register(op, spec, (&publish{}).Handle, wildcard)

	c := newCertificate()
	fmt.Println(handlertest.Selects(t, spec, c, wildcard))
	c.Spec.DNSNames = append(c.Spec.DNSNames, "*.example.com")
	fmt.Println(handlertest.Selects(t, spec, c, wildcard))
	// Output:
	// false
	// true
}
