package storage

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestUIDDecidesWhatAMarkerIsBoundTo(t *testing.T) {
	t.Parallel()
	object := Identity{UID: "u", Namespace: "web", Name: "shop", Kind: "Certificate"}
	for _, c := range []struct {
		rule   string
		marker Identity
		binds  bool
	}{
		{"the same uid", Identity{UID: "u"}, true},
		{"the same uid, whatever else it says", Identity{UID: "u", Namespace: "x", Name: "x", Kind: "x"}, true},
		{"another uid", Identity{UID: "v"}, false},
		{"another uid with the same name", Identity{UID: "v", Namespace: "web", Name: "shop", Kind: "Certificate"}, false},
		{"a stamp", Identity{Namespace: "web", Name: "shop", Kind: "Certificate"}, true},
		{"a stamp of another name", Identity{Namespace: "web", Name: "x", Kind: "Certificate"}, false},
		{"a stamp of another namespace", Identity{Namespace: "x", Name: "shop", Kind: "Certificate"}, false},
		{"a stamp of another kind", Identity{Namespace: "web", Name: "shop", Kind: "Issuer"}, false},
		{"a stamp without a kind", Identity{Namespace: "web", Name: "shop"}, false},
		{"a stamp before the name is generated", Identity{Namespace: "web", Kind: "Certificate"}, true},
		{"the same in another namespace", Identity{Namespace: "x", Kind: "Certificate"}, false},
		{"nothing", Identity{}, false},
	} {
		if got := c.marker.Binds(object); got != c.binds {
			t.Errorf("%s: %v", c.rule, got)
		}
	}
	if (Identity{UID: "u"}).Binds(Identity{}) || !(Identity{Name: "n", Kind: "Namespace"}).Binds(Identity{Name: "n", Kind: "Namespace"}) {
		t.Error("an object without uid or namespace")
	}
	if (Identity{}).Binds(Identity{}) {
		t.Error("nothing is bound to nothing")
	}
}

func TestWithMethodsLeaveTheOldMarkerAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genMarker().Draw(t, "marker")
		before := ServicePrefix.Render(m)
		id := genID().Draw(t, "id")
		object := Identity{UID: "u"}
		m.WithRecord(object, id, Record{Cause: Update})
		m.WithoutRecord(id)
		m.WithStatus(id, json.RawMessage("1"))
		m.WithStatus(id, nil)
		Budget{Marker: 1, Payload: 1}.Fit(ServicePrefix, nil, m)
		if diff := cmp.Diff(before, ServicePrefix.Render(m)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestRecordsComeAndGo(t *testing.T) {
	t.Parallel()
	object := Identity{UID: "u"}
	m := Marker{}.WithoutRecord("a").WithRecord(object, "a", Record{Cause: Create}).WithRecord(object, "b", Record{Cause: Update})
	if r, ok := m.Record("b"); !ok || r.Cause != Update || m.Progress.UID != "u" {
		t.Errorf("%+v", m.Progress)
	}
	m = m.WithoutRecord("a").WithoutRecord("c")
	if _, ok := m.Record("a"); ok || m.IsZero() {
		t.Errorf("%+v", m.Progress)
	}
	if m = m.WithoutRecord("b"); !m.IsZero() || m.Progress != nil {
		t.Errorf("%+v", m)
	}
}

func TestPayloadsComeAndGo(t *testing.T) {
	t.Parallel()
	m := Marker{}.WithStatus("a", nil)
	if !m.IsZero() {
		t.Errorf("%+v", m)
	}
	m = m.WithStatus("a", json.RawMessage("1")).WithStatus("a", json.RawMessage("2")).WithStatus("b", json.RawMessage("null"))
	if got := ServicePrefix.Render(m)["dogear.dev/status"]; got != `{"a":2,"b":null}` {
		t.Errorf("status is %s", got)
	}
	if m = m.WithStatus("a", nil).WithStatus("b", nil); !m.IsZero() {
		t.Errorf("%+v", m)
	}
}

func TestAnEntryWithoutDigestHasTheOneOfAll(t *testing.T) {
	t.Parallel()
	m := Marker{Handled: &Handled{Essence: "e", By: map[string]Entry{"a": {}, "b": {Digest: "d"}}}}
	a, okA := m.Entry("a")
	b, okB := m.Entry("b")
	_, okC := m.Entry("c")
	_, none := Marker{}.Entry("a")
	if a.Digest != "e" || b.Digest != "d" || !okA || !okB || okC || none {
		t.Errorf("%v %v, %v %v, %v %v", a, okA, b, okB, okC, none)
	}
}

func TestMarkersAreEqualIfTheyRenderToTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genMarker().Draw(t, "a"), genMarker().Draw(t, "b")
		same := cmp.Equal(ServicePrefix.Render(a), ServicePrefix.Render(b))
		if !a.Equal(a) || a.Equal(b) != same {
			t.Fatalf("equal %v, renders to the same %v", a.Equal(b), same)
		}
	})
}

func TestWithDigestMovesWhatWasFinishedOrTriedForTheOldOne(t *testing.T) {
	t.Parallel()
	object := Identity{UID: "u"}
	m := Marker{Handled: &Handled{Identity: object, Essence: "old", By: map[string]Entry{"a": {Revision: 1}, "b": {Digest: "old"}, "c": {Digest: "older"}}}}
	m = m.WithRecord(object, "a", Record{State: Failed, Essence: "old"}).WithRecord(object, "c", Record{State: Pending})
	before := ServicePrefix.Render(m)
	got := m
	for _, id := range []string{"a", "b", "c", "none"} {
		got = got.WithDigest(id, "old", "new")
	}
	want := map[string]string{
		"dogear.dev/handled":  `{"v":1,"uid":"u","essence":"old","by":{"a":{"digest":"new","revision":1},"b":{"digest":"new"},"c":{"digest":"older"}}}`,
		"dogear.dev/progress": `{"v":1,"uid":"u","handlers":{"a":{"state":"Failed","essence":"new"},"c":{"state":"Pending"}}}`,
	}
	if diff := cmp.Diff(want, ServicePrefix.Render(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, ServicePrefix.Render(m)); diff != "" {
		t.Errorf("the old marker changed:\n%s", diff)
	}
}

func TestFinishedStates(t *testing.T) {
	t.Parallel()
	for state, want := range map[State]bool{Pending: false, Waiting: false, Retrying: false, Failed: true, Succeeded: true, "": false, "Dreaming": false} {
		if state.Finished() != want {
			t.Errorf("%s: %v", state, !want)
		}
	}
}
