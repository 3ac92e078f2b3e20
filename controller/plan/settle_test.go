package plan_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

func TestWhatASettledObjectCarries(t *testing.T) {
	done := tried(storage.Update, storage.Succeeded, "e2", 1)
	failed := tried(storage.Update, storage.Failed, "e2", 1)
	two := func(r storage.Record) storage.Marker { return with(handled("e1", "h", "i"), r) }
	old := func(m storage.Marker) storage.Marker {
		m.Base, m.State = "b", storage.Pending
		return m
	}
	all, other := handler(create|update), handler(create|update, named("i"), watching("f1"))
	i := func(m storage.Marker) storage.Marker { return entry(m, "i", storage.Entry{Digest: "f1"}) }
	for name, c := range map[string]struct {
		in   plan.Input
		want storage.Marker
	}{
		"all succeeded: no record, the digest is handled": {at("e2", old(i(two(done))), all, other), generation(i(handled("e2", "h", "i")))},
		"one failed for good: its record stays, its entry too": {at("e2", old(i(two(failed))), all, other), func() storage.Marker {
			m := i(two(failed)) // the others have finished nothing new
			m.State = storage.Failed
			return m
		}()},
		"what failed and never finished has no entry": {at("e1", with(handled("e1", "i"), tried(storage.Create, storage.Failed, "e1", 1)).WithRecord(self, "i", tried(storage.Update, storage.Succeeded, "e2", 1)), all, handler(create, named("i"))), func() storage.Marker {
			m := with(generation(entry(handled("e1"), "i", storage.Entry{Digest: "e2"})), tried(storage.Create, storage.Failed, "e1", 1))
			m.State = storage.Failed
			return m
		}()},
		"a stamp that is void goes":                                 {at("e1", old(with(handled("e1", "h"), stamped(storage.Update))), all), handled("e1", "h")},
		"settled already: the same":                                 {at("e2", handled("e2", "h"), all), handled("e2", "h")},
		"the essence has changed, the watched fields not: the same": {at("e9", i(handled("e1", "i")), other), i(handled("e1", "i"))},
		"nothing selects it any more: no state":                     {at("e2", handled("e1", "h"), handler(create, unselected)), stateless(handled("e1", "h"))},
		"nothing was finished, nothing selects it: nothing":         {at("e2", old(with(storage.Marker{}, stamped(storage.Create))), handler(create, unselected)), storage.Marker{}},
		"a forged state on an object of no handler goes":            {at("e1", storage.Marker{State: storage.Failed}, handler(create, unselected)), storage.Marker{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := plan.Decide(c.in)
			if len(d.Due) != 0 {
				t.Fatalf("due: %+v", d.Due)
			}
			sameText(t, d.Marker, c.want)
			c.in.Marker = d.Marker
			sameText(t, plan.Decide(c.in).Marker, d.Marker)
		})
	}
}

func generation(m storage.Marker) storage.Marker {
	h := *m.Handled
	h.Generation = 7
	m.Handled = &h
	return m
}

func stateless(m storage.Marker) storage.Marker {
	m.State = ""
	return m
}

func TestTheStateOfAnObjectIsThatOfItsWorstHandler(t *testing.T) {
	states := []storage.State{storage.Succeeded, storage.Failed, storage.Pending, storage.Waiting, storage.Retrying}
	for i, worst := range states {
		m, handlers := storage.Marker{}, []plan.Handler{}
		for _, s := range states[:i+1] {
			r := tried(storage.Create, s, "e1", 1)
			r.Next = noon.Add(time.Minute)
			m = m.WithRecord(self, string(s), r)
			handlers = append(handlers, handler(create, named(string(s))))
		}
		slices.Reverse(handlers)
		if got := plan.Decide(at("e1", m, handlers...)).Marker.State; got != worst {
			t.Errorf("%q, want %q", got, worst)
		}
	}
}

func TestFinishedRecordsStayWhileOthersAreOpen(t *testing.T) {
	m := with(storage.Marker{}, tried(storage.Create, storage.Succeeded, "e1", 1))
	d := plan.Decide(at("e1", m, handler(create|update), handler(create, named("i"))))
	if _, ok := d.Marker.Record("h"); !ok || d.Marker.Handled != nil || len(d.Due) != 1 {
		t.Errorf("%+v, due %+v", d.Marker, d.Due)
	}
	changed := plan.Decide(at("e2", m, handler(create|update), handler(create, named("i"))))
	if len(changed.Due) != 2 || changed.Due[0].Cause != storage.Update {
		t.Errorf("a change in the middle of handling: due %+v", changed.Due)
	}
}

func TestWhatIsKeptOfHandlersThatAreUnknownOrDoNotSelect(t *testing.T) {
	base := entry(handled("e0"), "h", storage.Entry{Digest: "e1", Revision: 2})
	const undone = "-"
	for name, c := range map[string]struct {
		record  storage.Record
		unknown string // digest of the entry that is left where the handler is unknown
		dormant string // and where it doesn't select
		failed  bool   // its record stays where it is unknown
	}{
		"a success leaves an entry":                     {tried(storage.Update, storage.Succeeded, "e2", 1), "e2", "e2", false},
		"a failure stays, for a release that knows it":  {tried(storage.Update, storage.Failed, "e2", 1), "e1", "e2", true},
		"unfinished for the same digest: as before":     {tried(storage.Update, storage.Retrying, "e1", 1), "e1", "e1", false},
		"unfinished for another: what it did is undone": {tried(storage.Update, storage.Retrying, "e2", 1), undone, undone, false},
		"a failure as Resume: as before":                {tried(storage.Resume, storage.Failed, "e2", 1), "e1", "e1", true},
		"only stamped: as before":                       {stamped(storage.Update), "e1", "e1", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := handler(create, named("g"))
			unknown := plan.Decide(at("e0", with(base, c.record), g)).Marker
			dormant := plan.Decide(at("e0", with(base, c.record), g, handler(create|update, unselected))).Marker
			_, stays := unknown.Record("h")
			_, dormantStays := dormant.Record("h")
			if stays != c.failed || dormantStays {
				t.Errorf("records stay: %v, %v", stays, dormantStays)
			}
			u, _ := unknown.Entry("h")
			d, _ := dormant.Entry("h")
			if u.Digest != c.unknown || d.Digest != c.dormant {
				t.Errorf("entries %+v, %+v; want %s, %s", u, d, c.unknown, c.dormant)
			}
		})
	}
}

func TestAnInterruptedHandlerIsDueWhenItSelectsAgain(t *testing.T) {
	h := handler(create | update)
	m := with(handled("e1", "h"), tried(storage.Update, storage.Retrying, "e2", 1))
	h.Selected = false
	m = plan.Decide(at("e3", m, h)).Marker
	h.Selected = true
	if due := onlyDue(t, plan.Decide(at("e1", m, h))); due.Cause != storage.Update {
		t.Errorf("due %+v", due)
	}
}

func TestAnUpdateProvesAnEarlierSuccessAlsoToOneThatSelectsAgain(t *testing.T) {
	h := handler(create | update)
	m := with(storage.Marker{}, tried(storage.Update, storage.Retrying, "e2", 1))
	h.Selected = false
	m = plan.Decide(at("e3", m, h)).Marker
	h.Selected = true
	if due := onlyDue(t, plan.Decide(at("e2", m, h))); due.Cause != storage.Update {
		t.Errorf("due %+v", due)
	}
}

func TestWhatWasFinishedIsNotDueWhenItSelectsAgain(t *testing.T) {
	h := handler(create | update)
	m := with(storage.Marker{}, tried(storage.Create, storage.Succeeded, "e1", 1))
	h.Selected = false
	m = plan.Decide(at("e2", m, h)).Marker
	h.Selected = true
	if d := plan.Decide(at("e1", m, h)); len(d.Due) != 0 {
		t.Errorf("due %+v", d.Due)
	}
}

func TestEntriesOfUnknownHandlersKeepTheirDigest(t *testing.T) {
	m := with(entry(handled("e1", "gone"), "h", storage.Entry{}), tried(storage.Update, storage.Succeeded, "e2", 1))
	d := plan.Decide(at("e2", m, handler(create|update)))
	if e := d.Marker.Handled.By["gone"]; e.Digest != "e1" {
		t.Errorf("entry %+v", e)
	}
}

func TestAHandlerOfCreateOnlyKeepsTheDigestItFinished(t *testing.T) {
	m := with(handled("e1", "h", "c"), tried(storage.Update, storage.Succeeded, "e2", 1))
	d := plan.Decide(at("e2", m, handler(create|update), handler(create, named("c"))))
	if e, _ := d.Marker.Entry("c"); e.Digest != "e1" {
		t.Errorf("entry %+v", e)
	}
	d = plan.Decide(at("e2", d.Marker, handler(create|update), handler(create|update, named("c"))))
	if due := onlyDue(t, d); due.Index != 1 || due.Cause != storage.Update {
		t.Errorf("declared for Update too, due %+v", due)
	}
}

func TestAPayloadIsBoundToItsObjectAlsoWhereNothingElseIsLeft(t *testing.T) {
	h := handler(resume, resuming)
	in := at("e1", storage.Marker{}, h)
	in.Marker = plan.Apply(in.Marker, self, &h, plan.Decide(in).Due[0], plan.Outcome{State: storage.Succeeded}, noon, 0)
	in.Marker = in.Marker.WithStatus("h", json.RawMessage(`{"a":1}`))
	in.Handlers[0].Resume = false
	m := plan.Trust(plan.Decide(in).Marker, self)
	if len(m.Status) != 1 {
		t.Fatal("the payload is lost with the next look")
	}
	in.Marker = m
	sameText(t, plan.Decide(in).Marker, m)
}

func TestNothingIsWrittenInDeletionButWhatDeletionDoes(t *testing.T) {
	m := with(handled("e0", "h"), tried(storage.Update, storage.Retrying, "e1", 2))
	m.State = storage.Retrying
	in := deleted(at("e2", m, handler(create|update)))
	sameText(t, plan.Decide(in).Marker, m)
	in.Marker.Base, in.Marker.Retry = "b", "*"
	in.Object.Held = false // the cleanup is waived, or done
	sameText(t, plan.Decide(in).Marker, in.Marker)
}

func TestDecideChangesNoInput(t *testing.T) {
	m := with(handled("e1", "h", "i"), tried(storage.Update, storage.Succeeded, "e2", 1))
	m = m.WithRecord(self, "gone", tried(storage.Update, storage.Succeeded, "e1", 1))
	m.Retry = "*"
	before := prefix.Render(m)
	in := at("e2", m, handler(create|update), handler(create, named("i"), unselected))
	plan.Decide(in)
	plan.Stamp(in, "jane")
	if !maps.Equal(before, prefix.Render(in.Marker)) {
		t.Errorf("the marker was changed: %v", prefix.Render(in.Marker))
	}
}
