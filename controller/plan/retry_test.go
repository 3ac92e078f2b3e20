package plan_test

import (
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

func TestRetry(t *testing.T) {
	failed := tried(storage.Update, storage.Failed, "e1", 3)
	failed.Reason, failed.Message = "Bad", "bad"
	backOff := tried(storage.Update, storage.Retrying, "e1", 2)
	backOff.Next = noon.Add(time.Hour)
	done := tried(storage.Update, storage.Succeeded, "e1", 1)
	for name, c := range map[string]struct {
		retry   string
		record  storage.Record
		attempt int // due; 0: not
	}{
		"all":                                {"*", failed, 1},
		"by ID":                              {"h", failed, 1},
		"among others":                       {"x, h", failed, 1},
		"split by white space":               {"x\th\r\ny", failed, 1},
		"another ID":                         {"x", failed, 0},
		"a part of an ID is none":            {"hh", failed, 0},
		"back-off ends, its attempts count":  {"*", backOff, 3},
		"another's back-off stays":           {"x", backOff, 0},
		"what has succeeded doesn't repeat":  {"*", done, 0},
		"empty words ask for nothing":        {" , ", failed, 0},
		"none: a failure stays till changed": {"", failed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := with(handled("e0", "h"), c.record)
			m.Retry = c.retry
			d := plan.Decide(at("e1", m, handler(create|update)))
			if due := onlyDue(t, d); due.Attempt != c.attempt {
				t.Errorf("attempt %d, want %d", due.Attempt, c.attempt)
			}
			if d.Marker.Retry != "" {
				t.Errorf("not consumed: %q", d.Marker.Retry)
			}
			if r, ok := d.Marker.Record("h"); ok && r.State == storage.Pending && (r.Reason != "" || r.Message != "" || !r.Started.IsZero()) {
				t.Errorf("record %+v", r)
			}
		})
	}
}

func TestRetryOfWhatFailedForAnOlderEssence(t *testing.T) {
	m := with(storage.Marker{Retry: "h"}, tried(storage.Create, storage.Failed, "e1", 3))
	due := onlyDue(t, plan.Decide(at("e2", m, handler(create))))
	if due.Cause != storage.Create || due.Digest != "e2" || due.Attempt != 1 {
		t.Errorf("due %+v", due)
	}
}

func TestRetryLeavesAHandlerThatDoesNotSelectAsItWas(t *testing.T) {
	m := with(storage.Marker{Retry: "*"}, tried(storage.Create, storage.Failed, "e1", 3))
	d := plan.Decide(at("e2", m, handler(create, unselected)))
	if e, _ := d.Marker.Entry("h"); e.Digest != "e1" {
		t.Errorf("what it finished is forgotten: %+v", d.Marker)
	}
}

func TestRetryOfADeletion(t *testing.T) {
	m := with(storage.Marker{Retry: "*"}, tried(storage.Delete, storage.Failed, "e1", 3))
	m = m.WithRecord(self, "i", tried(storage.Delete, storage.Retrying, "e1", 1))
	d := plan.Decide(deleted(at("e1", m, handler(del), handler(del, named("i")))))
	if len(d.Due) != 2 || d.Finalizer != plan.Keep {
		t.Errorf("due %+v, finalizer %d", d.Due, d.Finalizer)
	}
}

func TestPausedObjectsRest(t *testing.T) {
	paused := func(in plan.Input) plan.Input {
		in.Marker.Paused = true
		return in
	}
	retrying := with(storage.Marker{Retry: "*"}, tried(storage.Create, storage.Failed, "e1", 1))
	for name, in := range map[string]plan.Input{
		"new":         at("e1", storage.Marker{}, handler(create|del)),
		"changed":     at("e2", handled("e1", "h"), handler(update)),
		"resuming":    at("e1", handled("e1", "h"), handler(resume, resuming)),
		"retry waits": at("e1", retrying, handler(create)),
		"unselected":  at("e1", retrying, handler(create, unselected)),
		"in deletion": deleted(at("e1", handled("e1", "h"), handler(del))),
	} {
		t.Run(name, func(t *testing.T) {
			in = paused(in)
			d := plan.Decide(in)
			if len(d.Due) != 0 || !d.Next.IsZero() || d.Finalizer != plan.Keep || len(d.Expired) != 0 {
				t.Errorf("decision %+v", d)
			}
			sameText(t, d.Marker, in.Marker)
		})
	}
}

func TestStatesAreToldOfAPausedObjectToo(t *testing.T) {
	m := with(storage.Marker{Paused: true}, tried(storage.Create, storage.Retrying, "e1", 1))
	d := plan.Decide(at("e1", m, handler(create), handler(create, named("i")), handler(create, named("j"), unselected)))
	for i, want := range []storage.State{storage.Retrying, storage.Pending, ""} {
		if d.States[i] != want {
			t.Errorf("%d: %q, want %q", i, d.States[i], want)
		}
	}
}

// An outcome is applied to the marker that asks for no retry any more.
func TestARetryIsConsumedByTheRun(t *testing.T) {
	m := with(storage.Marker{Retry: "*"}, tried(storage.Create, storage.Failed, "e1", 1))
	in := at("e1", m, handler(create))
	in.Marker = plan.Retried(in)
	due := onlyDue(t, plan.Decide(in))
	in.Marker = plan.Apply(in.Marker, self, &in.Handlers[0], due, plan.Outcome{State: storage.Failed}, in.Now, 0)
	if d := plan.Decide(in); len(d.Due) > 0 || d.Marker.Retry != "" || d.States[0] != storage.Failed {
		t.Errorf("after it failed again: due %+v, %+v", d.Due, d.Marker)
	}
	in = at("e1", m, handler(create))
	in.Marker.Paused = true
	if got := plan.Retried(in); got.Retry != "*" {
		t.Errorf("paused, retry is %q: want it kept", got.Retry)
	}
}
