package controller

import (
	"slices"
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

// An adoption is written also while another handler waits at a closed gate:
// else the adopted handler would miss a change that comes meanwhile.
func TestAdoptionWaitsForNoGate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var seen []handler.Cause
	adopted := registered(handler.Spec{ID: "set/adopted", On: handler.Create | handler.Update, Existing: handler.AdoptExisting}, nil,
		func(r *request) (results, error) { seen = append(seen, r.Cause); return results{}, nil })
	s.declare(adopted, registered(handler.Spec{ID: "set/gated", On: handler.Create}, &sluice{}, succeed))
	u := s.create("default", "one")
	s.pass(u)
	if _, ok := s.marker(u).Entry("set/adopted"); !ok {
		t.Errorf("what is adopted is not written: %v", s.get(u).GetAnnotations())
	}
	version := s.get(u).GetResourceVersion()
	s.pass(u)
	if s.get(u).GetResourceVersion() != version {
		t.Error("another look has written again")
	}
	s.kind.forgetAll() // as a restart does
	fresh := s.get(u)
	fresh.Object["spec"] = map[string]any{"size": int64(2)}
	if err := s.server.Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	s.pass(u)
	if !slices.Equal(seen, []handler.Cause{handler.Update}) {
		t.Errorf("the adopted handler saw %v of a change", seen)
	}
}

// That an object waits at a closed gate is not worth a write.
func TestWaitingAtAGateIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	g := &sluice{}
	s.declare(registered(handler.Spec{ID: "set/gated", On: handler.Create | handler.Update}, g, succeed))
	u := s.create("default", "one")
	version := s.get(u).GetResourceVersion()
	s.pass(u)
	if got := s.get(u); got.GetResourceVersion() != version {
		t.Errorf("written: %v", got.GetAnnotations())
	}
	g.set(1)
	s.pass(u)
	g.set(0)
	fresh := s.get(u)
	fresh.Object["spec"] = map[string]any{"size": int64(2)}
	if err := s.server.Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	version = fresh.GetResourceVersion()
	s.pass(u)
	if got := s.get(u); got.GetResourceVersion() != version {
		t.Errorf("written: %v", got.GetAnnotations())
	}
}

// What a handler wanted of the object that was removed before it could be
// written is not what the others see.
func TestThePatchOfARemovedHandlerIsSeenByNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.declare(registered(handler.Spec{ID: "set/gone", On: handler.Create}, nil, func(r *request) (results, error) {
		r.Patch.SetLabel("color", "red")
		return results{}, nil
	}))
	u := s.create("default", "one")
	s.refusing(func() error { return errServer })
	s.pass(u)
	seen := "nothing"
	s.declare(registered(handler.Spec{ID: "set/other", On: handler.Create}, nil, func(r *request) (results, error) {
		seen = r.Object.GetLabels()["color"]
		return results{}, nil
	}))
	s.refusing(nil)
	s.pass(u)
	if label := s.get(u).GetLabels()["color"]; seen != "" || label != "" {
		t.Errorf("another handler saw %q, the object has %q", seen, label)
	}
	if _, ok := s.marker(u).Entry("set/other"); !ok {
		t.Error("the other handler's outcome is not written")
	}
}
