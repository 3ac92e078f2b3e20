package controller

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// limiter bounds on how many objects one handler runs at the same time. Who
// finds it full doesn't wait, and so holds no worker: its object is enqueued
// again when there is room.
type limiter struct {
	mu      sync.Mutex
	free    int
	waiting []reconcile.Request
	queued  map[reconcile.Request]bool
	enqueue func(reconcile.Request)
}

func newLimiter(limit int, enqueue func(reconcile.Request)) *limiter {
	return &limiter{free: limit, queued: map[reconcile.Request]bool{}, enqueue: enqueue}
}

// acquire takes a place, or has the object enqueued when there is one.
func (l *limiter) acquire(key reconcile.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free > 0 {
		l.free--
		return true
	}
	if !l.queued[key] {
		l.queued[key] = true
		l.waiting = append(l.waiting, key)
	}
	return false
}

func (l *limiter) release() {
	l.mu.Lock()
	l.free++
	var next []reconcile.Request
	if len(l.waiting) > 0 {
		next, l.waiting = l.waiting[:1:1], l.waiting[1:]
		delete(l.queued, next[0])
	}
	l.mu.Unlock()
	for _, key := range next {
		l.enqueue(key)
	}
}
