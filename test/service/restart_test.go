package service

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/storage"
)

// holding is an endpoint that answers no call before release is closed.
func (b *bench) holding() (e *endpoint, release chan struct{}) {
	b.Helper()
	e, release = b.endpoint("hook", nil), make(chan struct{})
	e.set(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	})
	return e, release
}

// TestARestartLosesNoObject: the service is stopped without grace while calls
// are in flight. What was called twice is told so by the same idempotency ID.
func TestARestartLosesNoObject(t *testing.T) {
	const objects = 100
	b := newBench(t)
	r := b.start(func(o *setsOptions) { o.Settings.GracePeriod = time.Millisecond })
	r.abrupt = true
	e, release := b.holding()
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

// TestAStopLetsCallsEnd: calls under way are waited for when the service is told
// to stop, and none begins any more. The next one repeats none.
func TestAStopLetsCallsEnd(t *testing.T) {
	const objects = 20
	b := newBench(t)
	draining := make(chan struct{}, 1)
	r := b.start(func(o *setsOptions) {
		o.Log = funcr.New(func(_, line string) {
			if strings.Contains(line, "no handler begins any more") {
				draining <- struct{}{}
			}
		}, funcr.Options{})
	})
	e, release := b.holding()
	s := b.set("stop", "configmaps", "match: {labelSelector: {matchLabels: {many: 'yes'}}}\nhandlers:\n- {id: h, causes: [Create], http: "+
		e.http()[:len(e.http())-1]+", concurrency: 10, timeout: 1m}}\n")
	b.awaitReady(s)
	all := b.configMaps(objects, func(int) map[string]string { return map[string]string{"many": "yes"} })
	e.awaitCalls(10)
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.stop() }()
	<-draining
	close(release)
	<-stopped
	ended := 0
	for _, o := range all {
		if b.get(o).GetAnnotations()[storage.ServicePrefix.Key(storage.KeyState)] == "Succeeded" {
			ended++
		}
	}
	if calls := len(e.calls()); calls != 10 || ended != 10 {
		t.Errorf("%d calls and %d objects that succeeded at the end, want the 10 that were under way", calls, ended)
	}
	b.start()
	b.awaitCounts(s, func(c v1alpha1.Counts) bool { return c.Objects == objects && c.Pending+c.Waiting+c.Failing == 0 })
	if calls := len(e.calls()); calls != objects {
		t.Errorf("%d calls for %d objects", calls, objects)
	}
}
