package subject

import (
	"context"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/webhook"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// noop is Dogear's webhook server with nothing to decide.
func noop(s settings) (program, error) {
	reader, err := client.New(s.config, client.Options{})
	if err != nil {
		return program{}, err
	}
	source := cert.FromSecret(reader, types.NamespacedName{Namespace: s.namespace, Name: CertificateSecret})
	source.Interval = time.Second
	var calls atomic.Int64
	allowed := webhook.Answer{Decision: webhook.DecisionUnchanged, Response: &admissionv1.AdmissionResponse{Allowed: true}}
	server, err := webhook.NewServer(webhook.ServerOptions{
		Addr: s.address, Source: source, Log: s.log, LameDuck: -1,
		Admitter: webhook.AdmitterFunc(func(context.Context, *admissionv1.AdmissionRequest) webhook.Answer {
			calls.Add(1)
			return allowed
		}),
	})
	if err != nil {
		return program{}, err
	}
	return program{start: server.Start, look: func() Answer { return Answer{Calls: calls.Load()} }}, nil
}
