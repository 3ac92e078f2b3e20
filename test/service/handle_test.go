package service

import (
	"encoding/json"
	"testing"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

func TestASetHandlesCertificatesWithoutARestart(t *testing.T) {
	b := newBench(t)
	b.start()
	tries := 0
	e := b.endpoint("hook", func(*v1alpha1.HandlerReviewRequest) *v1alpha1.HandlerReviewResponse {
		if tries++; tries < 3 {
			return &v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeRetrying, Reason: "NotYet", Message: "soon", Status: json.RawMessage(`{"phase":"Pending"}`)}
		}
		return &v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded, Status: json.RawMessage(`{"phase":"Done"}`)}
	})
	older := b.certificate("older")
	s := b.set("certs", "certificates.v1.cert-manager.io", `
handlers:
- id: myapp
  causes: [Create, Update]
  http: `+e.http()+`
  retry: {initial: 100ms}
`)
	b.awaitReady(s)
	fresh := b.await(older, "Succeeded")
	if fresh.GetAnnotations()["dogear.dev/status"] != `{"certs/myapp":{"phase":"Done"}}` {
		t.Errorf("annotations %v", fresh.GetAnnotations())
	}
	b.await(b.certificate("younger"), "Succeeded")
	b.eventually(func() error { return b.objects(s, 2) })
	calls := e.calls()
	if len(calls) != 4 || calls[2].Attempt != 3 || calls[3].By != "rig-admin" {
		t.Errorf("%d calls: %+v", len(calls), calls)
	}
	if err := b.admin.Delete(b.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error { return b.isGone(s) })
	if left := b.get(older).GetAnnotations(); len(left) > 0 {
		t.Errorf("left on the object: %v", left)
	}
}
