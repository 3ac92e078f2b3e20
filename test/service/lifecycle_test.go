package service

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/storage"
)

const never = "retry: {initial: 1h, max: 1h}"

func TestHandlersAreAddedEditedAndRemovedWhileTheSetRuns(t *testing.T) {
	b := newBench(t)
	b.start()
	e := b.endpoint("hook", nil)
	one := `- {id: one, causes: [Create, Update, Delete], http: ` + e.http() + `}` + "\n"
	two := `- {id: two, causes: [Create], http: ` + e.http() + `, revision: %d}` + "\n"
	other := b.set("other", "configmaps", "handlers:\n"+one)
	s := b.set("life", "configmaps", "handlers:\n"+one)
	b.awaitReady(other)
	b.awaitReady(s)
	o := b.configMap("object", nil)
	e.awaitCalls(2)

	b.edit(s, "handlers:\n"+one+fmt.Sprintf(two, 1))
	e.awaitCalls(3) // two, as Create
	b.awaitReady(s)
	b.edit(s, "handlers:\n"+one+fmt.Sprintf(two, 2))
	e.awaitCalls(4) // two again
	b.awaitReady(s)
	b.edit(s, "handlers:\n"+fmt.Sprintf(two, 2))
	b.eventually(func() error { return b.handlers(s, "two Active") })
	if m := b.marker(o); m.Names("life/one") || !m.Names("life/two") || !m.Names("other/one") {
		t.Errorf("after the removal of one: %+v", m)
	}
	b.edit(s, "handlers:\n"+one)
	b.eventually(func() error { return b.handlers(s, "one Active") })
	calls := texts(e.awaitCalls(5)) // one, as new
	slices.Sort(calls)
	want := []string{"life/one object Create 1", "life/one object Create 1", "life/two object Create 1", "life/two object Create 1", "other/one object Create 1"}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	b.eventually(func() error {
		if m := b.marker(o); !m.Names("life/one") || m.Names("life/two") {
			return fmt.Errorf("at the end: %+v", m)
		}
		return nil
	})
	b.awaitReady(s)
}

// handlers checks the handlers of a set's status: "<id> <phase>".
func (b *bench) handlers(s *v1alpha1.ClusterHandlerSet, want ...string) error {
	if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		return err
	}
	var have []string
	for _, h := range s.Status.Handlers {
		have = append(have, h.ID+" "+string(h.Phase))
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("handlers %q, want %q: %+v", have, want, s.Status)
	}
	return nil
}

func TestASetEditedInABackOffLosesNoAttempt(t *testing.T) {
	b := newBench(t)
	b.start()
	busy := func(*v1alpha1.HandlerReviewRequest) *v1alpha1.HandlerReviewResponse {
		return &v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeRetrying, Reason: "Busy"}
	}
	first, second, calm := b.endpoint("first", busy), b.endpoint("second", busy), b.endpoint("calm", nil)
	set := func(e *endpoint, retry string) string {
		return "handlers:\n- {id: h, causes: [Create], http: " + e.http() + ", " + retry + "}\n"
	}
	other := b.set("other", "configmaps", set(calm, never))
	s := b.set("edited", "configmaps", set(first, "retry: {initial: 1s, max: 1s}"))
	b.awaitReady(other)
	b.awaitReady(s)
	o := b.configMap("object", nil)
	b.awaitRecord(o, "edited/h", func(r storage.Record) bool { return r.Attempts == 2 })
	b.edit(s, set(second, "retry: {initial: 100ms, max: 100ms}")) // another place, sooner
	again := second.awaitCalls(2)
	if n := len(first.calls()); int(again[0].Attempt) != n+1 || again[0].IdempotencyID != first.calls()[0].IdempotencyID {
		t.Errorf("%d calls before the edit, then attempt %d (%+v)", n, again[0].Attempt, again[0])
	}
	b.edit(s, set(second, never))
	b.awaitReady(s)
	record := b.awaitRecord(o, "edited/h", func(r storage.Record) bool {
		return r.State == storage.Retrying && r.Next.Sub(r.Started).Minutes() > 50
	})
	b.edit(s, set(second, "retry: {initial: 100ms, limit: 2}")) // fewer than were made
	failed := b.awaitRecord(o, "edited/h", func(r storage.Record) bool { return r.State == storage.Failed })
	if failed.Attempts != record.Attempts || failed.Reason != "RetryLimitReached" || !failed.Started.Equal(record.Started) {
		t.Errorf("before %+v, after %+v", record, failed)
	}
	if calls := texts(calm.calls()); len(calls) != 1 {
		t.Errorf("the other set was disturbed: %q", calls)
	}
}

func TestARemovedDeleteHandlerReleasesItsFinalizersThoughItsEndpointIsDead(t *testing.T) {
	b := newBench(t)
	b.start()
	dead, e := b.endpoint("dead", nil), b.endpoint("hook", nil)
	dead.server.Close()
	create := "- {id: made, causes: [Create], http: " + e.http() + "}\n"
	s := b.set("release", "configmaps", "handlers:\n"+create+"- {id: gone, causes: [Delete], http: "+dead.http()+"}\n")
	b.awaitReady(s)
	there, going := b.configMap("there", nil), b.configMap("going", nil)
	b.await(there, "Succeeded")
	b.await(going, "Succeeded")
	if !b.holds(there) {
		t.Fatalf("no finalizer on %v", b.get(there))
	}
	b.delete(going)
	b.awaitRecord(going, "release/gone", func(r storage.Record) bool { return r.Reason == "EndpointUnreachable" })
	b.edit(s, "handlers:\n"+create)
	b.eventually(func() error { return b.isGone(going.DeepCopy()) })
	b.eventually(func() error { return b.handlers(s, "made Active") })
	if b.holds(there) || !b.marker(there).Names("release/made") {
		t.Errorf("after the removal: %v", b.get(there))
	}
	b.awaitReady(s)
}

// TestADeletedSetWaitsForTheCleaning: also over a restart, and no other set
// loses anything.
func TestADeletedSetWaitsForTheCleaning(t *testing.T) {
	b := newBench(t)
	r := b.start()
	e := b.endpoint("hook", nil)
	set := "handlers:\n- {id: h, causes: [Create, Delete], http: " + e.http() + "}\n"
	other, s := b.set("other", "configmaps", set), b.set("deleted", "configmaps", set)
	b.awaitReady(other)
	b.awaitReady(s)
	objects := []client.Object{}
	for i := range 3 {
		o := b.configMap(fmt.Sprint("object-", i), nil)
		objects = append(objects, o)
		b.await(o, "Succeeded")
	}
	b.account("dogear", handleNone) // so that nothing can be cleaned
	b.delete(s)
	remaining := func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != "Deleting" || c.Status != metav1.ConditionFalse {
			return fmt.Errorf("status %+v", s.Status)
		}
		if len(s.Status.Handlers) != 1 || s.Status.Handlers[0].Phase != v1alpha1.HandlerRemoving || s.Status.Handlers[0].Remaining != 3 {
			return fmt.Errorf("handlers %+v", s.Status.Handlers)
		}
		return nil
	}
	b.eventually(remaining)
	r.stop()
	b.change(s, func() { s.Status = v1alpha1.HandlerSetStatus{} }) // has a subresource: nothing changes
	r = b.start(func(o *setsOptions) { o.Config = b.account("dogear", handleNone) })
	b.eventually(remaining)
	r.stop()
	b.start() // with all rights
	b.eventually(func() error { return b.isGone(s) })
	for _, o := range objects {
		u := b.unstructured(o)
		if m := b.marker(u); m.Names("deleted/h") || !m.Names("other/h") || !b.holds(u) {
			t.Errorf("%s: %+v", o.GetName(), m)
		}
	}
	if calls := e.calls(); len(calls) != 6 {
		t.Errorf("calls %q", texts(calls))
	}
}

func TestASetThatIsMadeAnewHandlesAllAnew(t *testing.T) {
	b := newBench(t)
	b.start()
	e := b.endpoint("hook", nil)
	set := "handlers:\n- {id: h, causes: [Create], http: " + e.http() + "}\n"
	s := b.set("again", "configmaps", set)
	o := b.configMap("object", nil)
	b.await(o, "Succeeded")
	b.delete(s)
	b.eventually(func() error { return b.isGone(s) })
	if left := b.ours(o); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	s = b.set("again", "configmaps", set)
	b.awaitReady(s)
	b.await(o, "Succeeded")
	if calls := e.awaitCalls(2); calls[1].Cause != v1alpha1.CauseCreate {
		t.Errorf("calls %q", texts(calls))
	}
}

func TestAPausedSetCallsNobodyAndLosesNothing(t *testing.T) {
	b := newBench(t)
	b.start()
	e := b.endpoint("hook", nil)
	handlers := "handlers:\n- {id: h, causes: [Create, Update, Delete], http: " + e.http() + "}\n"
	s := b.set("pausing", "configmaps", handlers)
	b.awaitReady(s)
	older := b.configMap("older", nil)
	b.await(older, "Succeeded")
	b.edit(s, "paused: true\n"+handlers)
	b.awaitCondition(s, v1alpha1.ConditionReady, metav1.ConditionTrue, "Paused")
	b.delete(older)
	younger := b.configMap("younger", nil)
	b.await(younger, "Pending")
	b.awaitCounts(s, func(c v1alpha1.Counts) bool { return c.Pending == 2 })
	if calls := e.calls(); len(calls) != 1 {
		t.Errorf("calls %q", texts(calls))
	}
	if err := b.isGone(older.DeepCopy()); err == nil {
		t.Error("an object went without its Delete handler")
	}
	b.edit(s, handlers)
	b.eventually(func() error { return b.isGone(older.DeepCopy()) })
	b.await(younger, "Succeeded")
	if calls := e.calls(); len(calls) != 3 {
		t.Errorf("calls %q", texts(calls))
	}

	b.edit(s, "paused: true\n"+handlers)
	b.awaitCondition(s, v1alpha1.ConditionReady, metav1.ConditionTrue, "Paused")
	b.delete(s) // no pause for its cleaning
	b.eventually(func() error { return errors.Join(b.isGone(s)) })
	if left := b.ours(younger); len(left) > 0 || b.holds(younger) {
		t.Errorf("left: %v", b.get(younger))
	}
}

// TestADeletionOutlivesAnOutage: calls that reach nobody use up no attempts, or
// a short outage would let objects go that nobody has cleaned up after.
func TestADeletionOutlivesAnOutage(t *testing.T) {
	b := newBench(t)
	b.start()
	down := b.endpoint("hook", nil)
	down.server.Close()
	s := b.set("outage", "configmaps", "handlers:\n- {id: h, causes: [Delete], http: "+down.http()+", retry: {limit: 1, initial: 50ms}}\n")
	b.awaitReady(s)
	u := b.configMap("going", nil)
	b.eventually(func() error {
		if !b.holds(u) {
			return errors.New("no finalizer")
		}
		return nil
	})
	b.delete(u)
	r := b.awaitRecord(u, "outage/h", func(r storage.Record) bool { return r.Reason == "EndpointUnreachable" })
	if r.State != storage.Waiting || r.Attempts != 0 {
		t.Errorf("the record is %+v, want one that waits without an attempt", r)
	}
	up := b.endpoint("mended", nil)
	b.edit(s, "handlers:\n- {id: h, causes: [Delete], http: "+up.http()+", retry: {limit: 1}}\n")
	b.eventually(func() error { return b.isGone(u.DeepCopy()) })
	if calls := up.calls(); len(calls) != 1 || calls[0].Attempt != 1 || !calls[0].LastAttempt {
		t.Errorf("calls are %+v, want the one that there is", calls)
	}
}
