package plan_test

import (
	"maps"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// memory is what a process knows of an object.
type memory struct {
	marker   *storage.Marker
	version  int             // of its last write or look: a cache doesn't go back
	finished map[string]bool // in this process: no longer owed as Resume
	retry    string          // consumed, but perhaps not yet written
	facts    map[string]fact // what is true of what it knows, by handler
}

// faults are what goes wrong in a pass.
type faults struct {
	crash   int  // die in the n-th attempt; 0: don't
	dies    bool // die before the last write
	unknown bool // the answer to the last write is lost
	lost    bool // and so is the write
	flush   bool // write after each attempt
	during  func()
	outcome func() plan.Outcome
}

// look is one pass: what it looks at, and how far it is.
type look struct {
	*model
	faults
	view *object
	read storage.Marker
	in   plan.Input
	mem  *memory
	last bool // its last write is on the way
}

// crash ends the process and starts another: what wasn't written is forgotten.
func (m *model) crash() {
	m.memories = map[string]*memory{}
	m.epoch, m.floor = m.server.version, m.written
}

func (m *model) memory(uid string) *memory {
	if m.memories[uid] == nil {
		m.memories[uid] = &memory{finished: map[string]bool{}, facts: map[string]fact{}}
	}
	return m.memories[uid]
}

// pass is one look of the controller at a version of the object. It tells
// whether anything happened, and when to look again.
func (m *model) pass(view *object, f faults) (busy bool, next time.Time) {
	l := &look{model: m, faults: f, view: view.clone(), mem: m.memory(view.uid)}
	l.start()
	d := plan.Decide(l.in)
	l.remember(d.Marker)
	l.expired(d)
	if !l.in.Marker.Paused {
		looked(&l.in, l.mem.facts)
	}
	if d.Finalizer == plan.Add {
		if !l.write(l.read, plan.Add) {
			m.logf("  the finalizer was refused")
			return true, time.Time{}
		}
		m.logf("  finalizer added")
		l.view.hold(prefix.Finalizer())
		l.in.Object.Held = true
	}
	l.in.Marker = d.Marker
	for n, due := range d.Due {
		if !l.attempt(due, n+1) || (f.flush && n+1 < len(d.Due) && !l.flush()) {
			return true, time.Time{}
		}
	}
	wrote, next := l.finish()
	return wrote || len(d.Due) > 0 || d.Finalizer == plan.Add, next
}

// start reads the marker as the controller does.
func (l *look) start() {
	if l.mem.marker == nil {
		l.mem.facts = orEmpty(maps.Clone(l.view.facts))
		l.void[l.view.uid] = l.void[l.view.uid] || l.view.forged
	}
	l.mem.version = l.view.version
	l.read, _ = prefix.Read(l.view.annotations)
	found := plan.Trust(l.read, l.view.identity())
	if found.Retry == l.mem.retry {
		found.Retry = ""
	}
	if !found.Paused {
		l.mem.retry = l.read.Retry
		for _, h := range l.handlers(l.view, nil) {
			f := l.mem.facts[h.ID]
			f.asked = f.asked || (h.Selected && (found.Retry == "*" || found.Retry == h.ID))
			l.mem.facts[h.ID] = f
		}
	}
	l.in = plan.Input{
		Object: l.view.seen(), Now: l.now, Handlers: l.handlers(l.view, l.mem),
		Marker: plan.Recall(l.mem.marker, found, l.view.identity()),
	}
}

func (l *look) expired(d plan.Decision) {
	for _, i := range d.Expired {
		h := &l.in.Handlers[i]
		r, _ := d.Marker.Record(h.ID)
		l.logf("  %s has used up its limit", h.ID)
		l.ended(l.view.uid, h, r.Cause, r.Essence, storage.Failed)
	}
}

// attempt runs one handler. It is false where the pass ends with it.
func (l *look) attempt(due plan.Due, n int) bool {
	h := &l.in.Handlers[due.Index]
	l.logf("  %s runs as %s for %s, attempt %d", h.ID, due.Cause, due.Digest, due.Attempt)
	if l.in.Marker.Paused {
		l.failf("%s ran on a paused object", h.ID)
	}
	before := l.mem.facts[h.ID]
	l.started(l.view.uid, h, due)
	if l.spec(h.ID).claim {
		claimed := plan.Claim(l.in.Marker, l.in.Object.Identity, h, due)
		if !l.write(claimed, plan.Keep) {
			l.logf("  its claim was refused")
			l.mem.facts[h.ID] = before // it was not started after all
			return false
		}
		l.in.Marker = claimed
	}
	if l.faults.crash == n {
		l.logf("  crash in the attempt")
		l.model.crash()
		return false
	}
	if l.during != nil && n == 1 {
		l.during()
	}
	l.end(h, due, l.outcome())
	return true
}

func (l *look) end(h *plan.Handler, due plan.Due, o plan.Outcome) {
	l.in.Marker = plan.Apply(l.in.Marker, l.in.Object.Identity, h, due, o, l.now, 0.5)
	state := o.State
	if r, ok := l.in.Marker.Record(h.ID); ok {
		state = r.State
	}
	l.logf("  %s: %s", h.ID, state)
	l.ended(l.view.uid, h, due.Cause, due.Digest, state)
	if state.Finished() {
		l.mem.finished[h.ID], h.Resume = true, false
	}
	l.remember(l.in.Marker)
}

func (l *look) remember(marker storage.Marker) { l.mem.marker = &marker }

// flush writes in the middle of a pass.
func (l *look) flush() bool {
	l.in.Marker = plan.Decide(l.in).Marker
	if l.write(l.in.Marker, plan.Keep) {
		return true
	}
	l.logf("  the write in between was refused")
	return false
}

// finish decides again and writes. It tells whether there was anything to write.
func (l *look) finish() (wrote bool, next time.Time) {
	d := plan.Decide(l.in)
	l.remember(d.Marker)
	l.last = true
	changes := prefix.Changes(l.view.annotations, l.read, d.Marker)
	idle := len(changes) == 0 && d.Finalizer == plan.Keep
	switch {
	case l.dies:
		l.logf("  crash before the write")
		l.model.crash()
	case idle:
		if s := l.server.object; s != nil && s.uid == l.view.uid && sameMarker(s, l.view) {
			l.persisted(l.view.uid)
		}
	case l.lost:
		l.logf("  the write and its answer are lost")
	default:
		l.checkRemoval(d)
		if !l.write(d.Marker, d.Finalizer) {
			l.logf("  the write was refused")
		}
	}
	return !idle, d.Next
}

// write writes the marker and lets the view follow.
func (l *look) write(marker storage.Marker, f plan.Finalizer) bool {
	changes := prefix.Changes(l.view.annotations, l.read, marker)
	if len(changes) == 0 && f == plan.Keep {
		return true
	}
	if !l.server.write(l.view, changes, f) {
		return false
	}
	l.writes++
	l.written = l.server.version
	if f != plan.Add {
		l.persisted(l.view.uid)
	}
	if l.unknown && l.last {
		l.logf("  written, but the answer is lost")
		return true
	}
	l.logf("  written")
	l.mem.version, l.mem.retry = l.server.version, ""
	l.view.apply(changes)
	l.view.version = l.server.version
	l.read, _ = prefix.Read(l.view.annotations)
	return true
}

// checkRemoval: the finalizer goes from an object in deletion only when every
// delete handler that selects it has finished.
func (l *look) checkRemoval(d plan.Decision) {
	s := l.server.object
	if d.Finalizer != plan.Remove || !l.view.deleting || s == nil || s.version != l.view.version || l.void[l.view.uid] {
		return
	}
	for _, h := range l.in.Handlers {
		if h.Selected && h.On&plan.OnDelete != 0 && !l.mem.facts[h.ID].deleted {
			l.failf("the finalizer went before %s had finished", h.ID)
		}
	}
}

func orEmpty(facts map[string]fact) map[string]fact {
	if facts == nil {
		return map[string]fact{}
	}
	return facts
}

func sameMarker(a, b *object) bool {
	for _, key := range []string{storage.KeyHandled, storage.KeyProgress} {
		if a.annotations[prefix.Key(key)] != b.annotations[prefix.Key(key)] {
			return false
		}
	}
	return true
}
