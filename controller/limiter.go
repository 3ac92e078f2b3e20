package controller

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// limiter bounds on how many objects one handler runs at the same time. Who
// finds it full doesn't wait, and so holds no worker: its object stands in
// line and is enqueued again when there is a place for it.
type limiter struct {
	mu       sync.Mutex
	free     int
	waiting  []reconcile.Request        // in line, each once
	queued   map[reconcile.Request]bool // those in waiting
	reserved map[reconcile.Request]bool // have a place and are enqueued
	active   map[reconcile.Request]bool // a worker looks at them
	enqueue  func(reconcile.Request)
}

func newLimiter(limit int, enqueue func(reconcile.Request)) *limiter {
	return &limiter{
		free: limit, enqueue: enqueue,
		queued: map[reconcile.Request]bool{}, reserved: map[reconcile.Request]bool{}, active: map[reconcile.Request]bool{},
	}
}

// begin says that a worker starts to look at an object.
func (l *limiter) begin(key reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active[key] = true
}

// end says that it has looked. A place that it had and didn't take, as the
// object is gone or has nothing to do there any more, is the next one's.
func (l *limiter) end(key reconcile.Request) {
	l.mu.Lock()
	delete(l.active, key)
	if l.reserved[key] {
		delete(l.reserved, key)
		l.free++
	}
	l.handOut()
}

// acquire takes a place, or has the object stand in line.
func (l *limiter) acquire(key reconcile.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reserved[key]:
		delete(l.reserved, key)
		return true
	case l.free > 0:
		l.free--
		return true
	case !l.queued[key]:
		l.queued[key] = true
		l.waiting = append(l.waiting, key)
	}
	return false
}

// release gives a place back.
func (l *limiter) release() {
	l.mu.Lock()
	l.free++
	l.handOut()
}

// handOut gives free places to those in line, and unlocks. One that a worker
// looks at could not take its place before that ends, which may take long.
func (l *limiter) handOut() {
	var next []reconcile.Request
	for i := 0; i < len(l.waiting) && l.free > 0; {
		key := l.waiting[i]
		if l.active[key] {
			i++
			continue
		}
		l.free--
		l.waiting = slices.Delete(l.waiting, i, i+1)
		delete(l.queued, key)
		l.reserved[key] = true
		next = append(next, key)
	}
	l.mu.Unlock()
	for _, key := range next {
		l.enqueue(key)
	}
}
