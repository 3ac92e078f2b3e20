package remote

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

// TestWhatCountsAsDown: answers, however bad, are life; what stands in for an
// answer is none.
func TestWhatCountsAsDown(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if s := status.Load(); s > 0 {
			w.WriteHeader(int(s))
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		respond(w, r, `{"uid":"UID","outcome":"Retrying"}`)
	})
	for code, down := range map[int32]bool{200: false, 302: false, 400: false, 404: false, 429: false, 500: false, 501: false, 502: true, 503: true, 504: true, 0: false} {
		status.Store(code)
		h := handlerOf(t, to(server), loopback())
		run(t, h)
		if got := h.Gate().Health().Failures == 1; got != down {
			t.Errorf("status %d: down is %v: want %v", code, got, down)
		}
	}
}

func TestNoAttemptIsUsedWhileTheEndpointIsDown(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	var well atomic.Bool
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if !well.Load() {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	now := testingclock.NewFakeClock(time.Now())
	shared := loopback()
	shared.Clock = now
	h := handlerOf(t, to(server), shared)
	for range 5 {
		want(t, run(t, h), handler.Retrying, ReasonUnreachable, "")
	}
	for range 5 {
		want(t, run(t, h), handler.Waiting, ReasonEndpointDown, "")
	}
	if n := calls.Load(); n != 5 {
		t.Errorf("%d calls: want 5", n)
	}
	well.Store(true)
	now.Step(2 * time.Second)
	until(t, "a probe is let through", func() bool { return h.Gate().Capacity() == 1 })
	want(t, run(t, h), handler.Succeeded, "", "")
	if n := h.Gate().Capacity(); n != 8 {
		t.Errorf("capacity is %d: want 8", n)
	}
}
