package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets"
)

// An endpoint that answers slowly, but answers, leaves workers to others.
func TestASlowEndpointLeavesWorkersToOthers(t *testing.T) {
	b := newBench(t)
	b.start(func(o *sets.Options) { o.Settings.Workers = 8 })
	release := make(chan struct{})
	slow := b.endpoint("slow", func(*v1alpha1.HandlerReviewRequest) *v1alpha1.HandlerReviewResponse {
		<-release
		return &v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded}
	})
	defer close(release)
	fast := b.endpoint("fast", nil)
	first := b.set("a-slow", "certificates.v1.cert-manager.io", `
match: {conditions: [{name: slow, expression: "object.metadata.name.startsWith('slow')"}]}
handlers: [{id: h, causes: [Create], http: `+strings.TrimSuffix(slow.http(), "}")+`, timeout: 5m, concurrency: 64}}]`)
	second := b.set("b-fast", "certificates.v1.cert-manager.io", `
match: {conditions: [{name: fast, expression: "object.metadata.name.startsWith('fast')"}]}
handlers: [{id: h, causes: [Create], http: `+fast.http()+`}]`)
	b.awaitReady(first)
	b.awaitReady(second)
	for i := range 20 {
		b.certificate(fmt.Sprintf("slow-%d", i))
	}
	b.eventually(func() error {
		if len(slow.calls()) == 0 {
			return fmt.Errorf("no slow call yet")
		}
		return nil
	})
	b.await(b.certificate("fast"), "Succeeded")
	if n := len(slow.calls()); n > 2 {
		t.Errorf("%d slow calls at a time, want 2 of 8 workers", n)
	}
}
