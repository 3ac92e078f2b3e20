package controller

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
)

// another is a second kind that the operator handles, with what it enqueues.
func (s *stage) another(set *selection.Set) (*kind, *[]string) {
	enqueued := &[]string{}
	k := &kind{
		gvk: widgets, handling: s.kind.handling, prefix: s.op.prefix, budget: s.op.options.Budget, client: s.server, clock: s.kind.clock, chance: s.kind.chance,
		fence: s.kind.fence, leads: s.kind.leads, adopts: s.kind.adopts, tracker: s.kind.tracker, memory: newMemory(),
		enqueue: func(key reconcile.Request) { *enqueued = append(*enqueued, key.Name) },
	}
	k.view.Store(s.op.newView(k, set, Removal{}, s.server))
	return k, enqueued
}

// A gate that opens again opens for those that are still handled.
func TestAStoppedKindTakesNoPlaceOfAGate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	g := &sluice{}
	ran := 0
	set := s.declare(registered(handler.Spec{ID: "set/gated", On: handler.Create}, g, func(*request) (results, error) { ran++; return results{}, nil }))
	first, second := s.create("default", "one"), s.create("default", "two")
	s.pass(first)
	other, enqueued := s.another(set)
	if _, err := other.Reconcile(t.Context(), keyOf(second)); err != nil {
		t.Fatal(err)
	}
	s.op.gates.leave(s.kind, nil) // it is stopped
	g.set(1)
	if !slices.Equal(*enqueued, []string{"two"}) {
		t.Fatalf("enqueued %v, want two: the place is kept for a kind that is stopped", *enqueued)
	}
	if _, err := other.Reconcile(t.Context(), keyOf(second)); err != nil || ran != 1 {
		t.Errorf("%d runs behind the open gate, %v", ran, err)
	}
	if s.op.gates.leave(other, nil); g.watched() > 0 || len(s.op.gates.all) > 0 {
		t.Errorf("%d still watch a gate that nobody has, %d gates are left", g.watched(), len(s.op.gates.all))
	}
}

// A handler that is paused and goes on again, many times, watches its gate once.
func TestAGateIsWatchedWhileAHandlerHasIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	g, shut := &sluice{capacity: 1}, &sluice{}
	behind := func(g *sluice) handler.Registration {
		return registered(handler.Spec{ID: "set/gated", On: handler.Create}, g, succeed)
	}
	u := s.create("default", "one")
	for range 3 {
		s.declare(behind(shut))
		s.pass(u)
		if g.watched() != 0 || shut.watched() != 1 {
			t.Errorf("paused: %d watch the gate, %d the closed one", g.watched(), shut.watched())
		}
		s.declare(behind(g))
		if g.watched() != 1 || shut.watched() != 0 {
			t.Errorf("not paused: %d watch the gate, %d the closed one", g.watched(), shut.watched())
		}
	}
	// What is declared and taken back before a view was made of it counts not.
	for _, gate := range []*sluice{shut, g} {
		if err := s.op.Declare(Declaration{Registrations: []handler.Registration{behind(gate)}}); err != nil {
			t.Fatal(err)
		}
	}
	if g.watched() != 1 {
		t.Error("the gate that passes go by is not watched any more")
	}
	s.pass(u)
	if _, ok := s.marker(u).Entry("set/gated"); !ok {
		t.Error("the handler did not run behind the open gate")
	}
}

// The line of a closed gate is as long as there are objects.
func TestADeletedObjectLeavesTheLineOfAGate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.declare(registered(handler.Spec{ID: "set/gated", On: handler.Create}, &sluice{}, succeed))
	for range 3 {
		u := s.create("default", "one")
		s.pass(u)
		if err := s.server.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		s.pass(u)
		for _, l := range s.kind.view.Load().lines {
			if n := l.waiting.Len(); n > 0 || len(l.queued) > 0 {
				t.Errorf("%d objects in line, none is there", n)
			}
		}
	}
}
