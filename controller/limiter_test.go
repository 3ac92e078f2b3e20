package controller

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// look is a worker's look at an object that wants a place.
func look(l *limiter, name string) bool {
	l.begin(requestFor(name))
	defer l.end(requestFor(name))
	return l.acquire(requestFor(name))
}

func TestLimiterServesInTurn(t *testing.T) {
	var enqueued []string
	l := newLimiter(1, func(key reconcile.Request) { enqueued = append(enqueued, key.Name) })
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
	l := newLimiter(1, func(key reconcile.Request) { enqueued = append(enqueued, key.Name) })
	look(l, "a")
	look(l, "gone")
	look(l, "c")
	l.release()
	l.begin(requestFor("gone"))
	l.end(requestFor("gone")) // without a wish for a place
	if want := []string{"gone", "c"}; !slices.Equal(enqueued, want) {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
	if !look(l, "c") {
		t.Error("the place is lost")
	}
}

func TestLimiterKeepsNoPlaceForWhoIsBusyElsewhere(t *testing.T) {
	var enqueued []string
	l := newLimiter(1, func(key reconcile.Request) { enqueued = append(enqueued, key.Name) })
	look(l, "a")
	l.begin(requestFor("busy"))
	l.acquire(requestFor("busy")) // and goes on with other handlers
	look(l, "c")
	l.release()
	if want := []string{"c"}; !slices.Equal(enqueued, want) {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
	if !look(l, "c") {
		t.Error("c has no place")
	}
	l.release()
	l.end(requestFor("busy"))
	if want := []string{"c", "busy"}; !slices.Equal(enqueued, want) || !look(l, "busy") {
		t.Errorf("enqueued %v, want %v", enqueued, want)
	}
}
