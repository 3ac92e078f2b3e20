package controller

import (
	"slices"
	"sync"

	"github.com/dogear-dev/dogear/controller/handler"
)

// gates are the limiters of gates, which handlers of several kinds may share.
// One is kept while the view of any kind has it.
type gates struct {
	mu  sync.Mutex
	all map[handler.Gate]minded
}

// minded is the limiter of a gate.
type minded struct {
	*limiter
	cancel func() // stops minding the gate
}

// of returns the limiter of a gate for the objects of a kind.
func (g *gates) of(gate handler.Gate, k *kind) *limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.all[gate]
	if !ok {
		if g.all == nil {
			g.all = map[handler.Gate]minded{}
		}
		l := newLimiter(0, enqueue)
		m = minded{l, gate.OnChange(func() { l.resize(gate.Capacity) })}
		g.all[gate] = m
		l.resize(gate.Capacity)
	}
	m.join(k)
	return m.limiter
}

// leave takes the objects of a kind away from all gates but those whose
// limiters it still has, and forgets the gates that no kind has any more.
func (g *gates) leave(k *kind, still []*limiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for gate, m := range g.all {
		if slices.Contains(still, m.limiter) {
			continue
		}
		if used := m.leave(k); !used {
			m.cancel()
			delete(g.all, gate)
		}
	}
}
