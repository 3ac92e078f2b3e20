package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// by returns the marker with its documents bound to this.
func by(i storage.Identity) storage.Marker {
	m := handled("e1", "h").WithRecord(i, "h", tried(storage.Create, storage.Failed, "e1", 1))
	m.Handled.Identity = i
	m.Status = map[string]json.RawMessage{"h": json.RawMessage(`{}`)}
	m.Retry, m.Paused, m.Base = "*", true, "b"
	return m
}

func TestWhatIsBelieved(t *testing.T) {
	stamp := storage.Identity{Namespace: "ns", Name: "thing", Kind: "Thing"}
	change := func(f func(*storage.Identity)) storage.Identity {
		i := stamp
		f(&i)
		return i
	}
	for name, c := range map[string]struct {
		identity storage.Identity
		want     bool
	}{
		"its own uid":                     {self, true},
		"another uid":                     {storage.Identity{UID: "u2", Namespace: "ns", Name: "thing", Kind: "Thing"}, false},
		"a stamp of its name":             {stamp, true},
		"a stamp without a name":          {change(func(i *storage.Identity) { i.Name = "" }), true},
		"a stamp of another name":         {change(func(i *storage.Identity) { i.Name = "copy" }), false},
		"a stamp of another namespace":    {change(func(i *storage.Identity) { i.Namespace = "other" }), false},
		"a parent's stamp: another kind":  {change(func(i *storage.Identity) { i.Kind = "Parent" }), false},
		"a document that is bound to nil": {storage.Identity{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := by(c.identity)
			want := storage.Marker{Retry: "*", Paused: true}
			if c.want {
				want = m
			}
			if c.want && c.identity.UID == "" {
				want.Progress = nil // before there is a uid, nothing has been tried
			}
			sameText(t, plan.Trust(m, self), want)
		})
	}
}

func TestAStampProvesNoRun(t *testing.T) {
	stamp := storage.Identity{Namespace: "ns", Name: "thing", Kind: "Thing"}
	pending := storage.Marker{}.WithRecord(stamp, "h", storage.Record{Cause: storage.Create, State: storage.Pending})
	sameText(t, plan.Trust(pending, self), pending)

	m := handled("e1", "h")
	m.Handled.Identity = stamp
	in := at("e1", plan.Trust(m, self), handler(create|update))
	if due := onlyDue(t, plan.Decide(in)); due.Cause != storage.Create || due.Attempt != 1 {
		t.Errorf("a creation that a stamp says was finished: due %+v", due)
	}
	in = at("e1", plan.Trust(m, self), handler(update))
	if d := plan.Decide(in); len(d.Due) > 0 {
		t.Errorf("a handler for changes alone, at birth: due %+v", d.Due)
	}
}

func TestOneForeignDocumentDoesNotTakeTheOtherWithIt(t *testing.T) {
	m := by(self)
	m.Handled.Identity = storage.Identity{UID: "u2"}
	got := plan.Trust(m, self)
	if got.Handled != nil || got.Progress == nil || len(got.Status) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestACopyRunsAsANewObject(t *testing.T) {
	m := handled("e1", "h")
	m.Handled.UID = "u2"
	in := at("e1", plan.Trust(m, self), handler(create|update))
	if due := onlyDue(t, plan.Decide(in)); due.Cause != storage.Create {
		t.Errorf("due %+v", due)
	}
}

func TestWhatAProcessRemembersOutweighsWhatItFinds(t *testing.T) {
	known := with(handled("e1", "g"), tried(storage.Create, storage.Retrying, "e1", 3))
	forged := handled("e2", "h", "g")
	for name, c := range map[string]struct {
		known *storage.Marker
		found storage.Marker
		want  storage.Marker
	}{
		"nothing is remembered: believed": {nil, forged, forged},
		"the same":                        {&known, known, known},
		"all wiped: restored, but the state, which is decided anew": {&known, storage.Marker{}, func() storage.Marker {
			m := known
			m.State = ""
			return m
		}()},
		"handled forged":                    {&known, forged, known},
		"progress forged":                   {&known, with(handled("e1", "g"), tried(storage.Create, storage.Succeeded, "e1", 1)), known},
		"a record that no admission stamps": {&known, known.WithRecord(self, "i", tried(storage.Create, storage.Failed, "e1", 1)), known},
		"a record that admission stamped":   {&known, known.WithRecord(self, "i", stamped(storage.Create)), known.WithRecord(self, "i", stamped(storage.Create))},
		"who made the change": {&known, func() storage.Marker {
			r, _ := known.Record("h")
			r.By, r.Attempts = "jane", 0
			return with(known, r)
		}(), func() storage.Marker {
			r, _ := known.Record("h")
			r.By = "jane"
			return with(known, r)
		}()},
		"what users write": {&known, func() storage.Marker {
			m := known
			m.Retry, m.Paused, m.Base = "h", true, "b"
			return m
		}(), func() storage.Marker {
			m := known
			m.Retry, m.Paused, m.Base = "h", true, "b"
			return m
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			sameText(t, plan.Recall(c.known, c.found, self), c.want)
		})
	}
}

func TestRecallChangesNoMarker(t *testing.T) {
	known := with(handled("e1", "g"), tried(storage.Create, storage.Retrying, "e1", 3))
	before := prefix.Render(known)
	plan.Recall(&known, known.WithRecord(self, "i", stamped(storage.Create)), self)
	for key, text := range prefix.Render(known) {
		if before[key] != text {
			t.Errorf("%s changed", key)
		}
	}
}
