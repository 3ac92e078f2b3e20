package controller

import (
	"sync"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
)

// gates are the limiters of gates, which handlers of several kinds may share.
type gates struct {
	mu  sync.Mutex
	all map[handler.Gate]*limiter
}

// of returns the limiter of a gate.
func (g *gates) of(gate handler.Gate) *limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, ok := g.all[gate]
	if !ok {
		if g.all == nil {
			g.all = map[handler.Gate]*limiter{}
		}
		l = newLimiter(0, enqueue)
		g.all[gate] = l
		gate.OnChange(func() { l.resize(gate.Capacity) })
		l.resize(gate.Capacity)
	}
	return l
}

// keep forgets the gates that no handler has any more.
func (g *gates) keep(sets []*selection.Set) {
	used := map[handler.Gate]bool{}
	for _, set := range sets {
		for _, h := range set.Handlers {
			used[h.Gate] = true
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for gate := range g.all {
		if !used[gate] {
			delete(g.all, gate)
		}
	}
}
