package controller

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// limiterOf is a limiter that objects of no kind may stand in line of.
func limiterOf(capacity int, enqueue func(ticket)) *limiter {
	l := newLimiter(capacity, enqueue)
	l.join(nil)
	return l
}

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
	l := limiterOf(1, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
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
	l := limiterOf(1, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
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
	l := limiterOf(1, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
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
	l := limiterOf(2, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
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
	handler, gate := limiterOf(1, note), limiterOf(0, note)
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

// ticket is that of an object of a kind.
func (k *kind) ticket(name string) ticket { t := ticketOf(name); t.kind = k; return t }

func lookOf(l *limiter, t ticket) bool {
	l.begin(t)
	defer l.end(t)
	return l.acquire(t)
}

// The objects of a kind that is no longer handled hold up nobody: neither
// those in line nor those that a place was kept for.
func TestLimiterPassesOnThePlacesOfAKindThatLeaves(t *testing.T) {
	var enqueued []string
	l := newLimiter(0, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
	old, other := &kind{}, &kind{}
	l.join(old)
	l.join(other)
	for _, t := range []ticket{old.ticket("a"), old.ticket("b"), other.ticket("c")} {
		lookOf(l, t)
	}
	l.resize(func() int { return 1 })
	if !l.leave(old) {
		t.Error("another kind is left")
	}
	if want := []string{"a", "c"}; !slices.Equal(enqueued, want) {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
	if !lookOf(l, other.ticket("c")) {
		t.Error("the place is lost")
	}
	if lookOf(l, old.ticket("late")); l.waiting.Len() > 0 {
		t.Error("a pass that began before has its object stand in line")
	}
	if l.leave(other) {
		t.Error("no kind is left")
	}
	if l.release(); l.free != 1 {
		t.Errorf("%d places are free, want 1", l.free)
	}
}

func TestLimiterForgetsAnObjectThatIsGone(t *testing.T) {
	var enqueued []string
	l := limiterOf(0, func(t ticket) { enqueued = append(enqueued, t.key.Name) })
	for _, name := range []string{"a", "gone", "c"} {
		look(l, name)
	}
	l.forget(ticketOf("gone"))
	l.forget(ticketOf("never there"))
	if l.resize(func() int { return 3 }); !slices.Equal(enqueued, []string{"a", "c"}) {
		t.Errorf("enqueued %v, want a and c", enqueued)
	}
}

// A line of all objects of a large cluster is served in the time of its length.
func TestLimiterServesALongLine(t *testing.T) {
	served := 0
	l := limiterOf(0, func(ticket) { served++ })
	const n = 200_000
	for i := range n {
		look(l, strconv.Itoa(i))
	}
	began := time.Now()
	l.resize(func() int { return 1 })
	for i := range n {
		if !look(l, strconv.Itoa(i)) {
			t.Fatalf("%d is not served in turn", i)
		}
		l.release()
	}
	if took := time.Since(began); served != n || took > 20*time.Second {
		t.Errorf("%d of %d served in %s", served, n, took)
	}
}
