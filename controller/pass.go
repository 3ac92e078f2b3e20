package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// pass is one look at one object: find what is due, run it, write once.
type pass struct {
	*kind
	*view
	key reconcile.Request
	log logr.Logger

	seen    *unstructured.Unstructured // as the server has it; shared with the cache, so never changed
	partial bool                       // of seen, only the metadata is from the last own write
	mem     *object
	found   storage.Marker             // what it carried when it was decided on
	basis   map[string]string          // the annotations then
	now     *unstructured.Unstructured // seen, with the patches of handlers applied
	in      plan.Input                 // now, with all outcomes known here

	ran   map[int]bool // handlers that ran in this pass
	woken bool         // a handler that was woken by a change has made a patch
}

// Errors that end a pass without being faults of it.
var (
	errAgain    = errors.New("the object has changed in the meantime: look again")
	errGone     = errors.New("the object is gone")
	errStopping = errors.New("the operator is stopping")
)

// maxLooks bounds how often one pass looks again after a guard has failed.
const maxLooks = 4

// run goes through the pass and returns when to look again; zero: not before
// something happens.
func (p *pass) run(ctx context.Context) (time.Duration, error) {
	for range maxLooks {
		again, err := p.once(ctx)
		switch {
		case errors.Is(err, errGone):
			p.gone()
			return 0, nil
		case !errors.Is(err, errAgain):
			return again, err
		}
		version := p.seen.GetResourceVersion()
		if err := p.reread(ctx); errors.Is(err, errGone) {
			p.gone()
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		if p.mem.refusal != nil && p.seen.GetResourceVersion() == version {
			if p.blame(ctx) {
				continue
			}
			break // nothing has changed: the server won't have it
		}
	}
	return p.blocked(p.mem.refusal)
}

// once looks, runs and writes, in that order.
func (p *pass) once(ctx context.Context) (time.Duration, error) {
	if err := p.look(); err != nil {
		return p.unreadable(err)
	}
	d := plan.Decide(p.in)
	if d.Finalizer == plan.Add {
		// Nothing may be made that the delete handler cannot clean up.
		marker, finalizer := plan.Stamp(p.in, "")
		if err := p.write(ctx, marker, finalizer); err != nil {
			return p.unwritable(err)
		}
		if err := p.look(); err != nil {
			return p.unreadable(err)
		}
	}
	p.complete()
	skipped, err := p.runDue(ctx)
	if err != nil && !errors.Is(err, errStopping) {
		return p.unwritable(err)
	}
	p.in.Now = p.time()
	d = plan.Decide(p.in)
	p.tracker.note(p.tracked, p.mem, p.standings(d.States), p.in.Now)
	if skipped > 0 && skipped == len(p.ran) && p.onlyWaits(d) {
		return p.after(d), nil
	}
	if werr := p.write(ctx, d.Marker, d.Finalizer); werr != nil {
		return p.unwritable(werr)
	}
	p.settled()
	if p.woken {
		p.patched()
	}
	for _, i := range d.Expired {
		report(p.recorder, p.seen, warning, ReasonFailed, p.ids[i], "Handler %q failed for good: no attempt is left", p.ids[i])
	}
	switch {
	case errors.Is(err, errStopping):
		return lapsedWait, nil // of no use to a process that ends
	case len(d.Due) > skipped:
		return time.Nanosecond, nil // a patch made handlers due that have run already
	}
	return p.after(d), nil
}

// onlyWaits tells whether all that would be written is the word for people that
// handlers wait. That isn't worth a write where many do. All else is: what is
// adopted, removed or restored must not be missed because a gate is closed.
func (p *pass) onlyWaits(d plan.Decision) bool {
	d.Marker.State = p.found.State
	return len(p.mem.unwritten) == 0 && p.mem.refused == 0 && d.Finalizer == plan.Keep && d.Marker.Equal(p.found)
}

// until is for how long to wait for what is decided; zero: it is for events.
func (p *pass) until(d plan.Decision) time.Duration {
	if d.Next.IsZero() {
		return 0
	}
	return max(d.Next.Sub(p.in.Now), time.Nanosecond)
}

// look takes in what the object is now.
func (p *pass) look() error {
	found, err := p.prefix.Read(p.seen.GetAnnotations())
	if errors.Is(err, storage.ErrNewer) {
		return err
	}
	if err != nil {
		p.reportOnce(p.seen, "malformed", warning, ReasonBlocked, "%v; what cannot be read counts as absent", err)
	}
	identity := selection.Identity(p.seen)
	trusted := plan.Trust(found, identity)
	if p.mem.attempted != nil {
		p.settleAttempt(found)
	}
	if p.mem.known == nil {
		p.mem.known = &trusted
	}
	p.found, p.basis, p.now = found, p.seen.GetAnnotations(), p.seen
	marker := plan.Recall(p.mem.known, trusted, identity)
	p.mem.unwritten = slices.DeleteFunc(p.mem.unwritten, func(r run) bool { return p.handler(r.id) == nil })
	for i := range p.mem.unwritten {
		if patch := p.mem.unwritten[i].patch; patch != nil {
			p.now = merged(p.now, patch)
		}
	}
	return p.decideOn(p.rid(marker))
}

// decideOn makes the input of the decision of a marker and the outcomes that
// are not written yet.
func (p *pass) decideOn(marker storage.Marker) error {
	object, handlers, err := p.set.Look(p.now, p.prefix.Finalizer())
	if err != nil {
		return err
	}
	created := p.seen.GetCreationTimestamp().Time
	for i, h := range p.set.Handlers {
		handlers[i].Resume = !p.mem.resumed[h.Spec.ID]
		handlers[i].Adopt = p.adopts(h, created)
	}
	p.mem.held.Store(object.Held)
	p.in = plan.Input{Object: object, Marker: marker, Handlers: handlers, Now: p.time()}
	p.in.Marker = plan.Retried(p.in)
	for i := range p.mem.unwritten {
		p.apply(&p.mem.unwritten[i])
	}
	return nil
}

// time is now, as exact as an annotation holds it: a handler is told the same
// start after a restart as before.
func (p *pass) time() time.Time { return p.clock.Now().Truncate(time.Millisecond) }

// apply adds an outcome to the marker that is decided on.
func (p *pass) apply(r *run) {
	for i := range p.in.Handlers {
		if h := &p.in.Handlers[i]; h.ID == r.id {
			if r.due.Cause == storage.Resume && r.before != r.due.Digest {
				// What it had finished it has finished with its own patch, too.
				p.in.Marker = p.in.Marker.WithDigest(r.id, r.before, r.due.Digest)
			}
			p.in.Marker = plan.Apply(p.in.Marker, p.in.Object.Identity, h, r.due, r.outcome, r.at, r.chance)
			h.Resume = h.Resume && r.outcome.State != storage.Succeeded
		}
	}
}

// reread reads the object from the server.
func (p *pass) reread(ctx context.Context) error {
	u, err := p.get(ctx, p.key.NamespacedName)
	if err != nil {
		return fmt.Errorf("read %s again: %w", p.key, err)
	}
	if u == nil || u.GetUID() != p.mem.uid {
		return errGone
	}
	p.seen, p.partial = u, false
	return nil
}

// settled: what was to be written is.
func (p *pass) settled() {
	for _, r := range p.mem.unwritten {
		if r.outcome.State == storage.Succeeded {
			if p.mem.resumed == nil {
				p.mem.resumed = map[string]bool{}
			}
			p.mem.resumed[r.id] = true
		}
	}
	p.mem.unwritten, p.mem.attempted, p.mem.refusal = nil, nil, nil
	p.mem.completed.answer(nil)
	p.mem.completed = nil
	if p.mem.live {
		p.memory.wroteVersion(p.mem, p.seen.GetResourceVersion(), p.clock.Now())
	}
	p.unblock(p.mem)
}

// settleAttempt finds out what became of a write whose fate was unknown.
func (p *pass) settleAttempt(found storage.Marker) {
	attempted := *p.mem.attempted
	attempted.Retry, attempted.Paused = found.Retry, found.Paused
	if attempted.Equal(found) {
		p.mem.known = &found
		p.settled()
	}
}

// unreadable: the object carries what this release must leave alone, or a
// predicate panics.
func (p *pass) unreadable(err error) (time.Duration, error) {
	p.takeCompletions(p.key.NamespacedName).answer(ErrUnwritten)
	p.reportOnce(p.seen, "unreadable", warning, ReasonBlocked, "%v", err)
	return p.block(p.mem), nil
}

// unwritable sorts what kept a write from being done.
func (p *pass) unwritable(err error) (time.Duration, error) {
	if errors.Is(err, errAgain) || errors.Is(err, errGone) {
		return 0, err
	}
	p.mem.live = true
	return p.blocked(err)
}

// blocked keeps the outcomes in memory, says so, and looks again later.
func (p *pass) blocked(err error) (time.Duration, error) {
	delay := p.block(p.mem)
	if p.mem.refused == reportRefusals {
		p.log.Info("Blocked: the object's state cannot be written", "error", safeText(err))
	}
	if p.mem.refused >= reportRefusals {
		p.reportOnce(p.seen, "refused", warning, ReasonBlocked, "State cannot be written: %s", safeText(err))
	}
	return delay, nil
}
