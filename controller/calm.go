package controller

import (
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

const (
	// calmRounds is how many own patches in a row may wake handlers at once.
	calmRounds = 8
	// firstCalm is the first pause after that; it doubles up to maxCalm.
	firstCalm = time.Second
	maxCalm   = 5 * time.Minute
)

// patched takes in that handlers which a change had woken have made patches.
// Handlers that don't agree on what it should be wake each other: after some
// rounds that goes on ever more slowly, until somebody else changes the object.
func (p *pass) patched() {
	now := p.clock.Now()
	p.mem.patched = p.set.Rules.Digest(p.seen.Object)
	p.mem.rounds++
	if n := p.mem.rounds - calmRounds; n > 0 {
		p.mem.calm = now.Add(min(firstCalm<<min(n-1, 16), maxCalm))
		p.reportOnce(p.seen, "calm", warning, ReasonDisagree,
			"Handlers have changed the object %d times in a row by patches that wake each other: they are called ever more rarely, until somebody else changes the object", p.mem.rounds)
	}
}

// calming is for how long no handler may run just because of own patches.
func (p *pass) calming() time.Duration {
	if p.mem.rounds > 0 && p.set.Rules.Digest(p.seen.Object) != p.mem.patched {
		p.mem.rounds, p.mem.calm = 0, time.Time{}
		delete(p.mem.reported, "calm")
	}
	return max(0, p.mem.calm.Sub(p.clock.Now()))
}

// calmed tells whether an attempt has to wait for that. Retries don't.
func (p *pass) calmed(h *selection.Handler, due plan.Due) bool {
	return p.calming() > 0 && fresh(h.Spec.ID, due, p.in.Marker)
}

// fresh tells whether a handler is due by a change, and for the first time.
func fresh(id string, due plan.Due, m storage.Marker) bool {
	r, _ := m.Record(id)
	return due.Cause == storage.Update && due.Attempt == 1 && !(r.State == storage.Waiting && r.Essence == due.Digest)
}

// after is when to look again: by the decision, or when it has calmed down.
func (p *pass) after(d plan.Decision) time.Duration {
	next, calm := p.until(d), p.calming()
	if calm > 0 && (next == 0 || calm < next) {
		return calm
	}
	return next
}
