package plan_test

import (
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// claimed is the marker after a claim of the next attempt.
func claimed(t *testing.T, m storage.Marker, h plan.Handler) storage.Marker {
	t.Helper()
	d := plan.Decide(at("e1", m, h))
	if len(d.Due) != 1 {
		t.Fatalf("due: %+v", d.Due)
	}
	return plan.Claim(d.Marker, self, &h, d.Due[0])
}

func TestAClaimUsesUpItsAttempt(t *testing.T) {
	h := handler(create, limited(3))
	m := claimed(t, storage.Marker{}, h)
	if r, _ := m.Record("h"); !r.Claimed || r.Attempts != 1 || r.State != storage.Pending || !r.Started.Equal(noon) {
		t.Errorf("record %+v", r)
	}
	due := onlyDue(t, plan.Decide(at("e1", m, h)))
	if due.Attempt != 2 || due.Last {
		t.Errorf("after a crash: %+v", due)
	}
}

func TestACrashInTheLastClaimedAttemptFails(t *testing.T) {
	h := handler(create, limited(1))
	d := plan.Decide(at("e1", claimed(t, storage.Marker{}, h), h))
	r, _ := d.Marker.Record("h")
	if len(d.Due) != 0 || len(d.Expired) != 1 || r.State != storage.Failed || r.Claimed || r.Reason != plan.ReasonLimit {
		t.Errorf("due %v, expired %v, record %+v", d.Due, d.Expired, r)
	}
	if d.Marker.State != storage.Failed {
		t.Errorf("state %s", d.Marker.State)
	}
	sameText(t, plan.Decide(at("e1", d.Marker, h)).Marker, d.Marker)
}

func TestAdmissionLeavesARunningLastAttemptAlone(t *testing.T) {
	h := handler(create, limited(1), watching("f1"))
	m := storage.Marker{}.WithRecord(self, "h", storage.Record{
		Cause: storage.Create, State: storage.Pending, Essence: "f1", Attempts: 1, Claimed: true, Started: noon,
	})
	in := at("e2", m, h)
	in.Now = time.Time{}
	got, _ := plan.Stamp(in, "jane")
	if r, _ := got.Record("h"); r.State != storage.Pending || !r.Claimed {
		t.Errorf("record %+v", r)
	}
}

func TestACrashInTheLastDeletionReleasesTheObject(t *testing.T) {
	h := handler(del, limited(1))
	in := deleted(at("e1", storage.Marker{}, h))
	in.Marker = plan.Claim(in.Marker, self, &h, plan.Decide(in).Due[0])
	d := plan.Decide(in)
	if d.Finalizer != plan.Remove || len(d.Expired) != 1 {
		t.Errorf("finalizer %d, expired %v", d.Finalizer, d.Expired)
	}
}

func TestAnOutcomeEndsTheClaim(t *testing.T) {
	h := handler(create, limited(2))
	for state, attempts := range map[storage.State]int{storage.Retrying: 1, storage.Waiting: 0, storage.Failed: 1} {
		due := plan.Decide(at("e1", storage.Marker{}, h)).Due[0]
		m := plan.Claim(storage.Marker{}, self, &h, due)
		m = plan.Apply(m, self, &h, due, plan.Outcome{State: state, After: -1}, noon, 0)
		if r, _ := m.Record("h"); r.Claimed || r.Attempts != attempts || r.State != state {
			t.Errorf("%s: record %+v", state, r)
		}
	}
}

func TestALoweredLimitFailsWhatHasUsedItUp(t *testing.T) {
	r := tried(storage.Create, storage.Retrying, "e1", 4)
	r.Message, r.Next = "busy", noon.Add(time.Hour)
	d := plan.Decide(at("e1", with(storage.Marker{}, r), handler(create, limited(3))))
	got, _ := d.Marker.Record("h")
	if got.State != storage.Failed || got.Message != "busy" || !d.Next.IsZero() {
		t.Errorf("record %+v, next %s", got, d.Next)
	}
	r.State = storage.Waiting
	if d := plan.Decide(at("e1", with(storage.Marker{}, r), handler(create, limited(3)))); len(d.Expired) != 0 {
		t.Error("one that waits has not failed")
	}
}
