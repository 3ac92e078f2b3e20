package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dogear-dev/dogear/controller/handler"
)

// WarmUpTime is how long the slow handler takes.
const WarmUpTime = 4 * time.Second

// DrainTime is how long a DNS record is still answered after its end.
const DrainTime = 1500 * time.Millisecond

// WarmUpAnnotation on a Service asks for the slow handler.
const WarmUpAnnotation = "example.com/warm-up"

// Record is the payload of the handler "dns".
type Record struct {
	Record string `json:"record"` // Published or Draining
}

func registerServices(r handler.Registry, namespaces []string) {
	handler.Register(r, handler.Spec{
		ID: "dns", On: handler.Create | handler.Delete, Namespaces: namespaces,
	}, dns)
	handler.Register(r, handler.Spec{
		ID: "warm-up", On: handler.Create, Namespaces: namespaces,
		Annotations: map[string]handler.Match{WarmUpAnnotation: handler.Present},
	}, warmUp)
}

// dns publishes a record for a Service. On deletion it drains the record before
// it takes it away; the finalizer that Dogear puts on the Service holds it until
// then. The handler's own last payload tells how far it is.
func dns(_ context.Context, req *handler.Request[*corev1.Service]) (handler.Result, error) {
	if req.Cause != handler.Delete {
		return handler.Result{Status: Record{Record: "Published"}}, nil
	}
	var last Record
	if _, err := req.Payload(req.HandlerID, &last); err != nil {
		return handler.Result{}, err
	}
	if last.Record == "Draining" {
		return handler.Result{}, nil
	}
	wait := handler.Wait(DrainTime) // not done yet; this uses up no attempt
	wait.Status, wait.Reason = Record{Record: "Draining"}, "Draining"
	return wait, nil
}

// warmUp takes its time. Other objects, and other handlers' outcomes on the same
// object, don't wait for it.
func warmUp(ctx context.Context, _ *handler.Request[*corev1.Service]) (handler.Result, error) {
	select {
	case <-time.After(WarmUpTime):
		return handler.Result{Status: map[string]int{"warmed": 100}}, nil
	case <-ctx.Done(): // a time-out, or the operator stops
		return handler.Result{}, ctx.Err()
	}
}
