package controller

import (
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// The time-out is for requests about the Lease alone: with it every watch would
// end, and a first list of many objects never come to its end.
func TestTheLeaseHasATimeoutOfItsOwn(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "dogear/test"}
	if _, err := newLease(config, "default", "dogear.test", 10*time.Second, clock.RealClock{}); err != nil {
		t.Fatal(err)
	}
	if config.Timeout != 0 || config.UserAgent != "dogear/test" {
		t.Errorf("the operator's own requests have the time-out %s and the user agent %q", config.Timeout, config.UserAgent)
	}
}
