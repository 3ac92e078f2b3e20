package controller

import (
	"container/list"
	"maps"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ticket is an object that wants a place.
type ticket struct {
	kind *kind
	key  reconcile.Request
}

// limiter bounds on how many objects something is done at the same time: one
// handler, or all that share a gate. Who finds it full doesn't wait, and so
// holds no worker: its object stands in line and is enqueued again when there
// is a place for it.
type limiter struct {
	mu       sync.Mutex
	capacity int
	free     int            // negative: more run than may now
	users    map[*kind]bool // whose objects may stand in line
	waiting  *list.List     // of tickets
	queued   map[ticket]*list.Element
	reserved map[ticket]bool // have a place and are enqueued
	active   map[ticket]int  // workers that look at them
	enqueue  func(ticket)
}

func newLimiter(capacity int, enqueue func(ticket)) *limiter {
	return &limiter{
		capacity: capacity, free: capacity, enqueue: enqueue, users: map[*kind]bool{},
		waiting: list.New(), queued: map[ticket]*list.Element{}, reserved: map[ticket]bool{}, active: map[ticket]int{},
	}
}

// join lets objects of a kind stand in line.
func (l *limiter) join(k *kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users[k] = true
}

// leave takes all objects of a kind out of the line, and has others take the
// places that they didn't take yet: nobody looks at them here any more, but for
// passes that began before. It tells whether other kinds are left.
func (l *limiter) leave(k *kind) (used bool) {
	l.mu.Lock()
	delete(l.users, k)
	used = len(l.users) > 0
	for t := range l.queued {
		if t.kind == k {
			l.drop(t)
		}
	}
	maps.DeleteFunc(l.reserved, func(t ticket, _ bool) bool {
		if t.kind == k {
			l.free++
		}
		return t.kind == k
	})
	l.handOut()
	return used
}

// forget takes an object out of the line that is no more.
func (l *limiter) forget(t ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(t)
}

func (l *limiter) drop(t ticket) {
	if e := l.queued[t]; e != nil {
		l.waiting.Remove(e)
		delete(l.queued, t)
	}
}

// resize changes how many places there are to what capacity says.
func (l *limiter) resize(capacity func() int) {
	l.mu.Lock()
	now := capacity()
	l.free += now - l.capacity
	l.capacity = now
	l.handOut()
}

// begin says that a worker starts to look at an object.
func (l *limiter) begin(t ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active[t]++
}

// end says that it has looked. A place that it had and didn't take, as the
// object is gone or has nothing to do there any more, is the next one's.
func (l *limiter) end(t ticket) {
	l.mu.Lock()
	if l.active[t]--; l.active[t] <= 0 {
		delete(l.active, t)
	}
	if l.reserved[t] {
		delete(l.reserved, t)
		l.free++
	}
	l.handOut()
}

// acquire takes a place, or has the object stand in line.
func (l *limiter) acquire(t ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reserved[t]:
		delete(l.reserved, t)
		return true
	case l.free > 0:
		l.free--
		return true
	case l.queued[t] == nil && l.users[t.kind]:
		l.queued[t] = l.waiting.PushBack(t)
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
	var next []ticket
	for e := l.waiting.Front(); e != nil && l.free > 0; {
		t := e.Value.(ticket)
		e = e.Next()
		if l.active[t] > 0 {
			continue
		}
		l.free--
		l.drop(t)
		l.reserved[t] = true
		next = append(next, t)
	}
	l.mu.Unlock()
	for _, t := range next {
		l.enqueue(t)
	}
}

// places are the limiters that one attempt needs a place of each of.
type places []*limiter

// acquire takes a place of each or none.
func (p places) acquire(t ticket) bool {
	for i, l := range p {
		if !l.acquire(t) {
			p[:i].release()
			return false
		}
	}
	return true
}

func (p places) release() {
	for _, l := range p {
		l.release()
	}
}
