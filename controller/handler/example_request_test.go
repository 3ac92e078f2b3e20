package handler_test

import (
	"context"
	"fmt"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/handler/handlertest"
)

// Job is what the handler below remembers from run to run, in status.
type Job struct {
	ID    string `json:"id"`
	Phase string `json:"phase"`
}

// Long work is started, and asked after now and then: waiting uses up no
// attempt and blocks no worker. What the handler has to remember is its payload.
func ExampleWait() {
	running := map[string]bool{}
	backup := func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		var job Job
		if _, err := req.Payload(req.HandlerID, &job); err != nil {
			return handler.Result{}, err
		}
		if job.ID == "" { // the idempotency ID makes a repeat after a crash harmless
			job = Job{ID: "job-1", Phase: "Running"}
			running[job.ID] = true
		}
		if running[job.ID] {
			result := handler.Wait(time.Minute)
			result.Status, result.Reason = job, "JobRunning"
			return result, nil
		}
		return handler.Result{Status: Job{job.ID, "Done"}}, nil
	}
	spec := handler.Spec{ID: "backup", On: handler.Create}
	first := handlertest.Run(t, spec, backup, newCertificate(), handlertest.Options{})
	fmt.Println(first)

	running["job-1"] = false
	payloads := map[string]any{"backup": first.Payload}
	fmt.Println(handlertest.Run(t, spec, backup, newCertificate(), handlertest.Options{Payloads: payloads}))
	// Output:
	// Waiting in 1m0s (JobRunning)
	// payload: {"id":"job-1","phase":"Running"}
	// Succeeded
	// payload: {"id":"job-1","phase":"Done"}
}

// Handlers run in declared order, and each sees the payloads of those before.
func ExampleInfo_Payload() {
	notify := func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		var zone struct{ Zone string }
		found, err := req.Payload("dns", &zone)
		if err != nil {
			return handler.Result{}, err
		}
		if !found {
			return handler.Wait(10 * time.Second), nil
		}
		return handler.Result{Status: "told the owner of " + zone.Zone}, nil
	}
	spec := handler.Spec{ID: "notify", On: handler.Create}
	fmt.Println(handlertest.Run(t, spec, notify, newCertificate(), handlertest.Options{}))
	fmt.Println(handlertest.Run(t, spec, notify, newCertificate(), handlertest.Options{
		Payloads: map[string]any{"dns": map[string]string{"zone": "example.com"}},
	}))
	// Output:
	// Waiting in 10s
	// Succeeded
	// payload: "told the owner of example.com"
}

// With Spec.Diff a handler learns what has changed since it last finished.
func ExampleRequest_changes() {
	follow := func(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		for _, change := range req.Changes {
			fmt.Printf("%s: %v -> %v\n", change.Path, change.Old, change.New)
		}
		return handler.Result{}, nil
	}
	old, c := newCertificate(), newCertificate()
	c.Spec.DNSNames = append(c.Spec.DNSNames, "www.example.com")
	c.Labels = map[string]string{"example.com/team": "shop"}
	spec := handler.Spec{ID: "follow", On: handler.Update, Diff: true}
	fmt.Println(handlertest.Run(t, spec, follow, c, handlertest.Options{Old: old}))
	// Output:
	// metadata.labels['example.com/team']: <nil> -> shop
	// spec.dnsNames: [shop.example.com] -> [shop.example.com www.example.com]
	// Succeeded
}
