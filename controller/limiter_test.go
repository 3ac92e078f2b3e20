package controller

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func ticketOf(name string) ticket {
	return ticket{key: reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}}
}

// look is a worker's look at an object that wants a place.
func look(l *limiter, name string) bool {
	l.begin(ticketOf(name))
	defer l.end(ticketOf(name))
	return l.acquire(ticketOf(name))
}

func TestLimiterServesInTurn(t *testing.T) {
	var enqueued []string
	l := newLimiter(1, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
	if !look(l, "a") || look(l, "b") || look(l, "c") || look(l, "b") {
		t.Fatal("one place is for one")
	}
	l.release()
	if look(l, "d") {
		t.Error("who comes later is served first")
	}
	if !look(l, "b") {
		t.Error("the next in line has no place")
	}
	l.release()
	if want := []string{"b", "c"}; !slices.Equal(enqueued, want) {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
}

func TestLimiterPassesOnAPlaceThatNobodyTakes(t *testing.T) {
	var enqueued []string
	l := newLimiter(1, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
	look(l, "a")
	look(l, "gone")
	look(l, "c")
	l.release()
	l.begin(ticketOf("gone"))
	l.end(ticketOf("gone")) // without a wish for a place
	if want := []string{"gone", "c"}; !slices.Equal(enqueued, want) {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
	if !look(l, "c") {
		t.Error("the place is lost")
	}
}

func TestLimiterKeepsNoPlaceForWhoIsBusyElsewhere(t *testing.T) {
	var enqueued []string
	l := newLimiter(1, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
	look(l, "a")
	l.begin(ticketOf("busy"))
	l.acquire(ticketOf("busy")) // and goes on with other handlers
	look(l, "c")
	l.release()
	if want := []string{"c"}; !slices.Equal(enqueued, want) {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
	if !look(l, "c") {
		t.Error("c has no place")
	}
	l.release()
	l.end(ticketOf("busy"))
	if want := []string{"c", "busy"}; !slices.Equal(enqueued, want) || !look(l, "busy") {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
}

func TestLimiterIsResized(t *testing.T) {
	var enqueued []string
	l := newLimiter(2, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
	to := func(n int) func() int { return func() int { return n } }
	if !look(l, "a") || !look(l, "b") {
		t.Fatal("two places are for two")
	}
	l.resize(to(0))
	if look(l, "c") {
		t.Error("no place is for none")
	}
	l.release()
	l.release()
	if len(enqueued) > 0 {
		t.Errorf("enqueued %v while there was no place", enqueued)
	}
	l.resize(to(1))
	if look(l, "d") || !look(l, "c") {
		t.Error("the first in line has no place")
	}
	if want := []string{"c"}; !slices.Equal(enqueued, want) {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
}

func TestWhoFindsOnlyOneOfTwoPlacesTakesNone(t *testing.T) {
	var enqueued []string
	note := func(t ticket) { enqueued = append(enqueued, t.key.Name) }
	handler, gate := newLimiter(1, note), newLimiter(0, note)
	both := places{handler, gate}
	for _, name := range []string{"a", "b"} {
		handler.begin(ticketOf(name))
		gate.begin(ticketOf(name))
		if both.acquire(ticketOf(name)) {
			t.Errorf("%s passed a closed gate", name)
		}
		gate.end(ticketOf(name))
		handler.end(ticketOf(name))
	}
	gate.resize(func() int { return 1 })
	if want := []string{"a"}; !slices.Equal(enqueued, want) {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
	if !both.acquire(ticketOf("a")) {
		t.Error("no place behind an open gate")
	}
}
