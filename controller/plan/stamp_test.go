package plan_test

import (
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// born is an object at admission of its creation.
func born(m storage.Marker, handlers ...plan.Handler) plan.Input {
	in := at("e1", m, handlers...)
	in.Object.UID, in.Object.Generation, in.Now = "", 0, time.Time{}
	return in
}

func nameless(in plan.Input) plan.Input {
	in.Object.Name = ""
	return in
}

// updated is an object at admission of a change.
func updated(in plan.Input) plan.Input {
	in.Now = time.Time{}
	return in
}

func TestWhatAdmissionStamps(t *testing.T) {
	const unbound = `"object":{"namespace":"ns","name":"thing","kind":"Thing"}`
	pending := `{"v":1,` + unbound + `,"handlers":{"h":{"cause":"Create","state":"Pending","by":"jane"}}}`
	for name, c := range map[string]struct {
		in                       plan.Input
		state, handled, progress string
		do                       plan.Finalizer
	}{
		"a birth: Pending":                         {born(storage.Marker{}, handler(create)), "Pending", "", pending, plan.Keep},
		"with a delete handler: the finalizer":     {born(storage.Marker{}, handler(create|del)), "Pending", "", pending, plan.Add},
		"a birth that Adopt doesn't concern":       {born(storage.Marker{}, handler(create, adopting)), "Pending", "", pending, plan.Keep},
		"selected by none: nothing":                {born(storage.Marker{}, handler(create, unselected)), "", "", "", plan.Keep},
		"none due at birth: handled":               {born(storage.Marker{}, handler(update)), "Succeeded", `{"v":1,` + unbound + `,"essence":"e1","by":{"h":{}}}`, "", plan.Keep},
		"also with watched fields":                 {born(storage.Marker{}, handler(update, watching("f1"))), "Succeeded", `{"v":1,` + unbound + `,"essence":"e1","by":{"h":{"digest":"f1"}}}`, "", plan.Keep},
		"Delete only: handled by nobody":           {born(storage.Marker{}, handler(del)), "Succeeded", `{"v":1,` + unbound + `,"essence":"e1","by":{}}`, "", plan.Add},
		"one due, one not: both are told":          {born(storage.Marker{}, handler(create), handler(update, named("u"))), "Pending", `{"v":1,` + unbound + `,"by":{"u":{"digest":"e1"}}}`, pending, plan.Keep},
		"generateName, due: without a name":        {nameless(born(storage.Marker{}, handler(create))), "Pending", "", `{"v":1,"object":{"namespace":"ns","kind":"Thing"},"handlers":{"h":{"cause":"Create","state":"Pending","by":"jane"}}}`, plan.Keep},
		"generateName, none due: nothing":          {nameless(born(storage.Marker{}, handler(update))), "", "", "", plan.Keep},
		"generateName, Delete only":                {nameless(born(storage.Marker{}, handler(del))), "", "", "", plan.Add},
		"a paused birth is stamped all the same":   {born(storage.Marker{Paused: true}, handler(create|del)), "Pending", "", pending, plan.Keep},
		"a change: Pending as Update":              {updated(held(at("e2", handled("e1", "h"), handler(create|update|del)))), "Pending", `{"v":1,"uid":"u1","essence":"e1","by":{"h":{}}}`, `{"v":1,"uid":"u1","handlers":{"h":{"cause":"Update","state":"Pending","by":"jane"}}}`, plan.Keep},
		"a change that concerns nobody: as it was": {updated(at("e2", handled("e1", "h"), handler(create))), "Succeeded", `{"v":1,"uid":"u1","essence":"e1","by":{"h":{}}}`, "", plan.Keep},
		"Resume is not admission's":                {updated(at("e1", handled("e1", "h"), handler(resume, resuming))), "Pending", `{"v":1,"uid":"u1","essence":"e1","by":{"h":{}}}`, "", plan.Keep},
		"in deletion: as it was":                   {updated(deleted(at("e2", handled("e1", "h"), handler(create|update|del)))), "Succeeded", `{"v":1,"uid":"u1","essence":"e1","by":{"h":{}}}`, "", plan.Keep},
	} {
		t.Run(name, func(t *testing.T) {
			m, do := plan.Stamp(c.in, "jane")
			got := prefix.Render(m)
			for key, want := range map[string]string{"state": c.state, "handled": c.handled, "progress": c.progress} {
				if got[prefix.Key(key)] != want {
					t.Errorf("%s is %s, want %s", key, got[prefix.Key(key)], want)
				}
			}
			if do != c.do || m.Paused != c.in.Marker.Paused {
				t.Errorf("finalizer %d, paused %v", do, m.Paused)
			}
			again := c.in
			again.Marker = m
			repeated, _ := plan.Stamp(again, "jane")
			sameText(t, repeated, m)
		})
	}
}

func TestAStampKeepsWhatARecordKnows(t *testing.T) {
	r := tried(storage.Update, storage.Retrying, "e1", 2)
	r.Next, r.Message, r.By = noon.Add(time.Hour), "busy", "joe"
	in := updated(at("e2", with(handled("e0", "h"), r), handler(update)))
	m, _ := plan.Stamp(in, "jane")
	got, _ := m.Record("h")
	if want := r; got.Attempts != 2 || got.Essence != "e1" || got.Message != want.Message || got.By != "jane" {
		t.Errorf("record %+v", got)
	}
	m, _ = plan.Stamp(in, "")
	if got, _ := m.Record("h"); got.By != "joe" {
		t.Errorf("who made the change was forgotten: %+v", got)
	}
}

func TestBackOffIsNotTheBusinessOfWhoeverChangesSomethingElse(t *testing.T) {
	r := tried(storage.Update, storage.Retrying, "f1", 2)
	r.Next, r.By = noon.Add(time.Hour), "joe"
	m, _ := plan.Stamp(updated(at("e2", with(handled("e0", "h"), r), handler(update, watching("f1")))), "jane")
	if got, _ := m.Record("h"); got.By != "joe" {
		t.Errorf("record %+v", got)
	}
}

func TestAStampLeavesRetryToTheController(t *testing.T) {
	m := with(storage.Marker{Retry: "*"}, tried(storage.Update, storage.Failed, "f1", 3))
	got, _ := plan.Stamp(updated(at("e2", m, handler(update, watching("f1")))), "jane")
	if r, _ := got.Record("h"); got.Retry != "*" || r.State != storage.Failed {
		t.Errorf("retry %q, record %+v", got.Retry, r)
	}
}

func TestAPausedBirthIsHandledWhenThePauseEnds(t *testing.T) {
	h := handler(create|update, adopting)
	m, _ := plan.Stamp(born(storage.Marker{Paused: true}, h), "jane")
	if d := plan.Decide(at("e1", m, h)); len(d.Due) != 0 {
		t.Fatalf("due while paused: %+v", d.Due)
	}
	m.Paused = false
	if due := onlyDue(t, plan.Decide(at("e1", m, h))); due.Cause != storage.Create {
		t.Errorf("due %+v", due)
	}
}

// What the API server allocates after admission, such as a Service's
// clusterIP, is no change.
func TestBirth(t *testing.T) {
	h := handler(update)
	m, _ := plan.Stamp(born(storage.Marker{}, h), "jane")
	in := at("e1+ip", m, h)
	in.Object.Birth = "e1"
	d := plan.Decide(in)
	if len(d.Due) != 0 {
		t.Fatalf("due after allocation: %+v", d.Due)
	}
	if e, _ := d.Marker.Entry("h"); e.Digest != "e1+ip" || d.Marker.Handled.UID != "u1" {
		t.Errorf("the first look does not bind it: %+v", d.Marker.Handled)
	}
	in.Marker = d.Marker
	sameText(t, plan.Decide(in).Marker, d.Marker)
	in.Object.Essence = "e1+ip2" // only what was allocated has changed
	if due := onlyDue(t, plan.Decide(in)); due.Cause != storage.Update {
		t.Errorf("a change of what was allocated: %+v", due)
	}
	in.Marker, in.Object.Essence, in.Object.Birth = m, "e2+ip", "e2"
	if due := onlyDue(t, plan.Decide(in)); due.Cause != storage.Update {
		t.Errorf("a change before the first look: %+v", due)
	}
	in.Marker, in.Object.Essence, in.Object.Birth = handled("e1", "h"), "e1+ip", "e1"
	if due := onlyDue(t, plan.Decide(in)); due.Cause != storage.Update {
		t.Errorf("what is bound to the uid knows all fields: %+v", due)
	}
}

func TestThePassAfterAStampRunsWhatIsStampedAndLeavesNoRecord(t *testing.T) {
	h := handler(create | update)
	m, _ := plan.Stamp(nameless(born(storage.Marker{}, h)), "jane")
	in := at("e1", plan.Trust(m, self), h)
	d := plan.Decide(in)
	in.Marker = plan.Apply(d.Marker, self, &h, onlyDue(t, d), plan.Outcome{State: storage.Succeeded}, noon, 0)
	if r, _ := in.Marker.Record("h"); r.By != "jane" {
		t.Errorf("record %+v", r)
	}
	want := handled("e1", "h")
	want.Handled.Generation = 7
	sameText(t, plan.Decide(in).Marker, want)
}

// The first entry that the controller writes binds what a birth's stamp says.
func TestAnEntryBindsTheStampOfABirth(t *testing.T) {
	stamp := born(storage.Marker{}, handler(update), handler(create, named("c")))
	m, _ := plan.Stamp(stamp, "jane")
	m = entry(m, "c", storage.Entry{}) // no birth can say this of a handler for creations
	in := at("e1+ip", m, handler(update), handler(create, named("c")))
	in.Object.Birth = "e1"
	got := plan.Decide(in).Marker
	if e, ok := got.Entry("h"); got.Handled.UID != "u1" || e.Digest != "e1+ip" || !ok {
		t.Errorf("handled: %+v", got.Handled)
	}
	if _, ok := got.Entry("c"); ok {
		t.Error("a creation that a stamp says was finished is believed once the stamp is bound")
	}
}
