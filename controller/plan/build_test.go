package plan_test

import (
	"maps"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

var (
	noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	self = storage.Identity{UID: "u1", Namespace: "ns", Name: "thing", Kind: "Thing"}
)

// handler is the one handler of most tests, which selects the object.
func handler(on plan.On, changes ...func(*plan.Handler)) plan.Handler {
	h := plan.Handler{ID: "h", On: on, Selected: true, Retry: plan.Retry{Initial: time.Second, Factor: 2, Max: time.Minute}}
	for _, change := range changes {
		change(&h)
	}
	return h
}

func named(id string) func(*plan.Handler)        { return func(h *plan.Handler) { h.ID = id } }
func unselected(h *plan.Handler)                 { h.Selected = false }
func adopting(h *plan.Handler)                   { h.Adopt = true }
func resuming(h *plan.Handler)                   { h.Resume = true }
func revision(r int64) func(*plan.Handler)       { return func(h *plan.Handler) { h.Revision = r } }
func watching(digest string) func(*plan.Handler) { return func(h *plan.Handler) { h.Digest = digest } }
func limited(n int) func(*plan.Handler)          { return func(h *plan.Handler) { h.Retry.Limit = n } }

// at is an object with this essence, as the controller sees it at noon.
func at(essence string, m storage.Marker, handlers ...plan.Handler) plan.Input {
	return plan.Input{
		Object: plan.Object{Identity: self, Essence: essence, Birth: essence, Generation: 7},
		Marker: m, Handlers: handlers, Now: noon,
	}
}

func deleted(in plan.Input) plan.Input {
	in.Object.Deleting, in.Object.Held = true, true
	return in
}

func held(in plan.Input) plan.Input {
	in.Object.Held = true
	return in
}

// handled is a marker by which these handlers have finished the essence.
func handled(essence string, ids ...string) storage.Marker {
	m := storage.Marker{Handled: &storage.Handled{Identity: self, Essence: essence, By: map[string]storage.Entry{}}}
	for _, id := range ids {
		m.Handled.By[id] = storage.Entry{}
	}
	m.State = storage.Succeeded
	return m
}

// entry returns the marker with this entry of a handler.
func entry(m storage.Marker, id string, e storage.Entry) storage.Marker {
	h := *m.Handled
	h.By = maps.Clone(h.By)
	h.By[id] = e
	m.Handled = &h
	return m
}

// with returns the marker with this record of the handler h.
func with(m storage.Marker, r storage.Record) storage.Marker {
	return m.WithRecord(self, "h", r)
}

func tried(c storage.Cause, s storage.State, essence string, attempts int) storage.Record {
	return storage.Record{Cause: c, State: s, Essence: essence, Attempts: attempts, Started: noon.Add(-time.Minute)}
}

func stamped(c storage.Cause) storage.Record { return storage.Record{Cause: c, State: storage.Pending} }

// sameText fails unless the marker renders as the annotations want.
func sameText(t *testing.T, got, want storage.Marker) {
	t.Helper()
	if g, w := prefix.Render(got), prefix.Render(want); !maps.Equal(g, w) {
		t.Errorf("the marker is\n%v, want\n%v", g, w)
	}
}

// onlyDue returns the handler that is due, or the zero Due.
func onlyDue(t *testing.T, d plan.Decision) plan.Due {
	t.Helper()
	switch len(d.Due) {
	case 0:
		return plan.Due{}
	case 1:
		return d.Due[0]
	}
	t.Fatalf("due: %+v", d.Due)
	return plan.Due{}
}
