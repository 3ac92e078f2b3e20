package service

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/storage"
)

// TestARestartLosesNoObject: the service is stopped without grace while calls
// are in flight. What was called twice is told so by the same idempotency ID.
func TestARestartLosesNoObject(t *testing.T) {
	const objects = 100
	b := newBench(t)
	r := b.start(func(o *setsOptions) { o.Settings.GracePeriod = time.Millisecond })
	r.abrupt = true
	e := b.endpoint("hook", nil)
	release := make(chan struct{})
	e.set(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	})
	s := b.set("restart", "configmaps", "match: {labelSelector: {matchLabels: {many: 'yes'}}}\nhandlers:\n- {id: h, causes: [Create], http: "+
		e.http()[:len(e.http())-1]+", concurrency: 50, timeout: 1m}, retry: {limit: 1}}\n")
	b.awaitReady(s)
	all := b.configMaps(objects, func(int) map[string]string { return map[string]string{"many": "yes"} })
	e.awaitCalls(10) // as many as there are workers, or nearly
	r.stop()
	before := len(e.calls())
	b.start()
	close(release)
	b.awaitCounts(s, func(c v1alpha1.Counts) bool { return c.Objects == objects && c.Pending+c.Waiting+c.Failing == 0 })
	ids := map[string]string{}
	for _, call := range e.calls() {
		name := nameOf(call)
		if id, ok := ids[name]; ok && id != call.IdempotencyID {
			t.Errorf("%s: called with %q and %q", name, id, call.IdempotencyID)
		}
		ids[name] = call.IdempotencyID
		if call.Attempt != 1 {
			t.Errorf("%s: attempt %d", name, call.Attempt)
		}
	}
	if n := len(e.calls()); len(ids) != objects || n > objects+before {
		t.Errorf("%d calls for %d objects, %d before the restart", n, len(ids), before)
	}
	b.eventually(func() error {
		for _, o := range all {
			if state := b.get(o).GetAnnotations()[storage.ServicePrefix.Key(storage.KeyState)]; state != "Succeeded" {
				return fmt.Errorf("%s: %s", o.GetName(), state)
			}
		}
		return nil
	})
}
