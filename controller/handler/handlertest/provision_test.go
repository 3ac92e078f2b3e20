package handlertest_test

import (
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

func TestProvisionWaitsForTheIssuer(t *testing.T) {
	t.Parallel()
	c := &cmapi.Certificate{}
	c.Spec.IssuerRef.Name = "ca"
	outcome := handlertest.Run(t, provisionSpec, provision, c, handlertest.Options{})
	outcome.WantRetrying(t)
	outcome.WantDelay(t, 30*time.Second)
	outcome.WantPayload(t, phase{"Pending"})

	outcome = handlertest.Run(t, provisionSpec, provision, c, handlertest.Options{Attempt: 3})
	outcome.WantSucceeded(t)
	if outcome.Object.Labels["provisioned"] != "true" {
		t.Errorf("labels are %v: want it marked as provisioned", outcome.Object.Labels)
	}
}

func TestProvisionRefusesACertificateWithoutIssuer(t *testing.T) {
	t.Parallel()
	outcome := handlertest.Run(t, provisionSpec, provision, &cmapi.Certificate{}, handlertest.Options{})
	outcome.WantFailed(t)
	outcome.WantReason(t, "NoIssuer")
}

func TestWhatATypeMakesUpIsNoChange(t *testing.T) {
	t.Parallel()
	old := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"dnsNames": []any{"a.example"}}}}
	c := &cmapi.Certificate{Spec: cmapi.CertificateSpec{DNSNames: []string{"a.example"}}}
	if got := received(t, spec(), c, options{Old: old}); !got.Known || len(got.Changes) != 0 {
		t.Errorf("got %v: want no changes", got.Changes)
	}
}

func TestDefaultsTakeAnUnsetFieldAsAbsent(t *testing.T) {
	t.Parallel()
	got, err := handlertest.Defaults(t, handler.Spec{ID: "d", On: handler.Create}, func(c *cmapi.Certificate, _ handler.Admission) error {
		c.Spec.SecretName, c.Spec.IssuerRef.Name = "x", "ca"
		return nil
	}, &cmapi.Certificate{}, handler.Admission{})
	if err != nil || got.Spec.SecretName != "x" || got.Spec.IssuerRef.Name != "ca" {
		t.Errorf("got %+v, %v: want both defaults", got.Spec, err)
	}
}
