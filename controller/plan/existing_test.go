package plan_test

import (
	"testing"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

func TestExisting(t *testing.T) {
	birth := func(in plan.Input) plan.Input {
		in.Object.UID = ""
		return in
	}
	for name, c := range map[string]struct {
		in    plan.Input
		cause storage.Cause
		entry string // digest that counts as finished; empty: no entry
	}{
		"Handle runs on an older object":                  {at("e1", storage.Marker{}, handler(create)), storage.Create, ""},
		"Adopt marks it as handled":                       {at("e1", storage.Marker{}, handler(create|update, adopting)), "", "e1"},
		"Adopt with watched fields":                       {at("e1", storage.Marker{}, handler(create|update, adopting, watching("f1"))), "", "f1"},
		"after adoption, a change is due":                 {at("e2", handled("e1", "h"), handler(create|update, adopting)), storage.Update, "e1"},
		"a stamp proves the object younger than Adopt":    {at("e1", with(storage.Marker{}, stamped(storage.Create)), handler(create, adopting)), storage.Create, ""},
		"an attempt as Create proves it too":              {at("e2", with(storage.Marker{}, tried(storage.Create, storage.Retrying, "e1", 1)), handler(create, adopting)), storage.Create, ""},
		"so does birth itself":                            {birth(at("e1", storage.Marker{}, handler(create, adopting))), storage.Create, ""},
		"Update only adopts in any case":                  {at("e1", storage.Marker{}, handler(update)), "", "e1"},
		"Delete only leaves no entry":                     {at("e1", storage.Marker{}, handler(del)), "", ""},
		"selected for the first time later: Create":       {at("e2", handled("e1", "other"), handler(create|update)), storage.Create, ""},
		"selected later, Adopt: as an older object":       {at("e2", handled("e1", "other"), handler(create|update, adopting)), "", "e2"},
		"Delete only that is now Create too: never done":  {at("e1", handled("e1"), handler(create|del)), storage.Create, ""},
		"Create only that is now Update too: as finished": {at("e1", handled("e1", "h"), handler(create|update)), "", "e1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := plan.Decide(c.in)
			e, _ := d.Marker.Entry("h")
			if due := onlyDue(t, d); due.Cause != c.cause || e.Digest != c.entry {
				t.Errorf("due as %q, entry %q; want %q, %q", due.Cause, e.Digest, c.cause, c.entry)
			}
		})
	}
}

func TestAdoptionCountsAtOnceSoThatNoChangeIsMissed(t *testing.T) {
	creating, updating := handler(create, named("c")), handler(update)
	first := plan.Decide(at("e1", storage.Marker{}, creating, updating))
	if e, _ := first.Marker.Entry("h"); e.Digest != "e1" || len(first.Due) != 1 {
		t.Fatalf("entry %+v, due %+v", e, first.Due)
	}
	later := plan.Decide(at("e2", first.Marker, creating, updating))
	if len(later.Due) != 2 || later.Due[1].Cause != storage.Update {
		t.Errorf("due: %+v", later.Due)
	}
}

func TestRevision(t *testing.T) {
	e := func(r int64) storage.Marker { return entry(handled("e1"), "h", storage.Entry{Revision: r}) }
	rec := func(m storage.Marker, s storage.State, essence string, r int64) storage.Marker {
		x := tried(storage.Create, s, essence, 1)
		x.Revision = r
		return with(m, x)
	}
	for name, c := range map[string]struct {
		in    plan.Input
		cause storage.Cause
	}{
		"raised: due as Update":                          {at("e1", e(1), handler(create|update, revision(2))), storage.Update},
		"raised, Create only: due as Create":             {at("e1", e(1), handler(create, revision(2))), storage.Create},
		"raised, Update only: due as Update":             {at("e1", e(1), handler(update, revision(2))), storage.Update},
		"first set: raised from none":                    {at("e1", handled("e1", "h"), handler(create|update, revision(1))), storage.Update},
		"lowered: finished stays finished":               {at("e1", e(2), handler(create|update, revision(1))), ""},
		"raised since a success not yet in handled":      {at("e1", rec(storage.Marker{}, storage.Succeeded, "e1", 1), handler(create|update, revision(2))), storage.Update},
		"lowered since a success not yet in handled":     {at("e1", rec(storage.Marker{}, storage.Succeeded, "e1", 2), handler(create|update, revision(1))), ""},
		"raised since a failure for good":                {at("e1", rec(storage.Marker{}, storage.Failed, "e1", 1), handler(create|update, revision(2))), storage.Update},
		"finished as raised, changed: Create only rests": {at("e2", rec(e(1), storage.Succeeded, "e1", 2), handler(create, revision(2))), ""},
		"unfinished as raised, changed: Create only":     {at("e2", rec(e(1), storage.Retrying, "e1", 2), handler(create, revision(2))), storage.Create},
	} {
		t.Run(name, func(t *testing.T) {
			if due := onlyDue(t, plan.Decide(c.in)); due.Cause != c.cause {
				t.Errorf("due as %q, want %q", due.Cause, c.cause)
			}
		})
	}
}

func TestARaisedRevisionStartsWithTheFirstAttempt(t *testing.T) {
	r := tried(storage.Update, storage.Retrying, "e1", 3)
	r.Next = noon.Add(1)
	due := onlyDue(t, plan.Decide(at("e1", with(handled("e0", "h"), r), handler(update, revision(1)))))
	if due.Attempt != 1 || !due.Started.Equal(noon) {
		t.Errorf("due %+v", due)
	}
}
