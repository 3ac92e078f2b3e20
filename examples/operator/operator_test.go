package main

import (
	"testing"
	"testing/synctest"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

var spec = handler.Spec{ID: "tested", On: handler.Create | handler.Delete, Retry: handler.Retry{Limit: 10}}

func certificate(names ...string) *cmapi.Certificate {
	return &cmapi.Certificate{
		TypeMeta:   metav1.TypeMeta{APIVersion: "cert-manager.io/v1", Kind: "Certificate"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"},
		Spec:       cmapi.CertificateSpec{DNSNames: names},
	}
}

func TestProvisionFailsTwiceWithPayload(t *testing.T) {
	for attempt := 1; attempt <= 2; attempt++ {
		o := handlertest.Run(t, spec, provision, certificate("shop.example.com"), handlertest.Options{Attempt: attempt})
		o.WantRetrying(t)
		o.WantDelay(t, RetryAfter)
		o.WantReason(t, "NotIssued")
		o.WantPayload(t, Phase{Phase: "Pending", Attempt: attempt})
	}
	o := handlertest.Run(t, spec, provision, certificate("shop.example.com"), handlertest.Options{Attempt: 3})
	o.WantSucceeded(t)
	o.WantPayload(t, Phase{Phase: "Ready"})
}

func TestPolicyFailsForGood(t *testing.T) {
	o := handlertest.Run(t, spec, policy, certificate("a.example.com", "b.example.org"), handlertest.Options{})
	o.WantFailed(t)
	o.WantReason(t, "NameNotAllowed")
	o.WantPayload(t, Verdict{Name: "b.example.org"})

	o = handlertest.Run(t, spec, policy, certificate("a.example.com", "example.com"), handlertest.Options{})
	o.WantSucceeded(t)
	o.WantPayload(t, Verdict{Allowed: true})

	o = handlertest.Run(t, spec, policy, certificate("notexample.com"), handlertest.Options{})
	o.WantFailed(t)
}

func TestSecretNameIsDefaultedOnlyWhereAbsent(t *testing.T) {
	for _, c := range []struct{ name, given, want string }{
		{"shop", "", "shop-tls"}, {"shop", "mine", "mine"}, {"", "", ""},
	} {
		o := certificate()
		o.Name, o.Spec.SecretName = c.name, c.given
		if err := secretName(o, handler.Admission{}); err != nil || o.Spec.SecretName != c.want {
			t.Errorf("%q with secret name %q: got %q, %v, want %q", c.name, c.given, o.Spec.SecretName, err, c.want)
		}
	}
}

func TestRecordIsDrainedBeforeItGoes(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "api"}}
	o := handlertest.Run(t, spec, dns, service, handlertest.Options{})
	o.WantSucceeded(t)
	o.WantPayload(t, Record{Record: "Published"})

	o = handlertest.Run(t, spec, dns, service, handlertest.Options{
		Cause: handler.Delete, Payloads: map[string]any{spec.ID: Record{Record: "Published"}},
	})
	o.WantWaiting(t)
	o.WantDelay(t, DrainTime)
	o.WantPayload(t, Record{Record: "Draining"})

	o = handlertest.Run(t, spec, dns, service, handlertest.Options{
		Cause: handler.Delete, Payloads: map[string]any{spec.ID: Record{Record: "Draining"}},
	})
	o.WantSucceeded(t)
}

func TestWarmUpTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}
		began := time.Now()
		handlertest.Run(t, spec, warmUp, service, handlertest.Options{}).WantSucceeded(t)
		if took := time.Since(began); took != WarmUpTime {
			t.Errorf("it took %s, want %s", took, WarmUpTime)
		}
	})
}
