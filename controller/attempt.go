package controller

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	apijson "sigs.k8s.io/json"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

const (
	// flushAfter is how long a finished outcome waits for a slower handler
	// before it is written on its own.
	flushAfter = time.Second
	// abandonAfter is how long a handler may go on after the end of its context.
	abandonAfter = 10 * time.Second
)

// runDue runs what is due, each handler at most once, in declared order, and
// returns how many were skipped for want of room.
func (p *pass) runDue(ctx context.Context) (skipped int, err error) {
	p.ran = map[int]bool{}
	for {
		due, ok := p.nextDue()
		if !ok {
			return skipped, nil
		}
		if ctx.Err() != nil || !p.leads() {
			return skipped, errStopping
		}
		p.ran[due.Index] = true
		h := p.set.Handlers[due.Index]
		if p.isBusy(h.Spec.ID) || p.calmed(h, due) || !p.places[due.Index].acquire(ticket{p.kind, p.key}) {
			skipped++
			continue
		}
		if err := p.attempt(ctx, h, due); err != nil {
			return skipped, err
		}
	}
}

// nextDue decides anew: the patch of a handler may change what the next sees.
func (p *pass) nextDue() (plan.Due, bool) {
	for _, due := range plan.Decide(p.in).Due {
		if !p.ran[due.Index] {
			return due, true
		}
	}
	return plan.Due{}, false
}

func (p *pass) isBusy(id string) bool {
	done, ok := p.mem.busy[id]
	if !ok {
		return false
	}
	select {
	case <-done:
		delete(p.mem.busy, id)
		return false
	default:
		return true
	}
}

// attempt runs one handler once and takes in what came of it.
func (p *pass) attempt(ctx context.Context, h *selection.Handler, due plan.Due) error {
	places := p.places[due.Index]
	before, recorded := p.in.Marker.Record(h.Spec.ID)
	if h.Spec.Claim {
		if err := p.claim(ctx, due); err != nil {
			places.release()
			return err
		}
	}
	request := p.request(h, due)
	began := p.clock.Now()
	outcome, stopped := p.invoke(ctx, h, request, places)
	handlerDuration.WithLabelValues(h.Spec.ID).Observe(p.clock.Since(began).Seconds())
	if stopped {
		if h.Spec.Claim {
			p.unclaim(h.Spec.ID, before, recorded)
		}
		return errStopping
	}
	p.take(h, due, outcome, request.Patch, "")
	return nil
}

// claim writes that an attempt begins, and with it all that has finished.
func (p *pass) claim(ctx context.Context, due plan.Due) error {
	claimed := plan.Claim(p.in.Marker, p.in.Object.Identity, &p.in.Handlers[due.Index], due)
	if err := p.write(ctx, claimed, plan.Keep); err != nil {
		return err
	}
	p.settled()
	return p.look()
}

// unclaim puts back the record of a handler whose claimed attempt was none.
func (p *pass) unclaim(id string, before storage.Record, recorded bool) {
	p.in.Marker = p.in.Marker.WithoutRecord(id)
	if recorded {
		p.in.Marker = p.in.Marker.WithRecord(p.in.Object.Identity, id, before)
	}
}

// invoke runs the handler beside the pass, so that outcomes which are finished
// already can be written while it takes its time. stopped tells that the
// operator is stopping and the attempt doesn't count.
//
// The handler's context is that of the kind, not of the pass: what is under way
// may end when no more is to begin.
func (p *pass) invoke(ctx context.Context, h *selection.Handler, request *handler.RawRequest, taken places) (o handler.Outcome, stopped bool) {
	type end struct {
		result handler.Result
		err    error
		done   <-chan struct{}
	}
	ended := make(chan end, 1)
	log := p.log.WithValues("handler", h.Spec.ID, "cause", request.Cause.String(), "attempt", request.Attempt)
	go func() {
		result, err, done := handler.Invoke(ctrllog.IntoContext(p.handling, log), h.Registration, request, abandonAfter)
		ended <- end{result, err, done}
	}()
	var flush <-chan time.Time
	if len(p.mem.unwritten) > 0 {
		flush = p.clock.After(max(0, flushAfter-p.clock.Since(p.mem.unwritten[0].at)))
	}
	var e end
	for waiting := true; waiting; {
		select {
		case e = <-ended:
			waiting = false
		case <-flush:
			flush = nil
			p.flush(ctx)
		}
	}
	go func() { <-e.done; taken.release() }()
	p.mindBusy(h.Spec.ID, e.done)
	if handler.Interrupted(p.handling, e.err) {
		return o, true
	}
	o = handler.Classify(e.result, e.err, h.Spec.OnError)
	if e.err != nil {
		log.Info("The handler ended in an error", "outcome", o.Kind.String(), "error", e.err.Error())
	}
	var panicked *handler.PanicError
	if errors.As(e.err, &panicked) {
		log.Error(e.err, "The handler panicked", "stack", string(panicked.Stack))
	}
	return o, false
}

func (p *pass) mindBusy(id string, done <-chan struct{}) {
	select {
	case <-done:
		return
	default:
	}
	if p.mem.busy == nil {
		p.mem.busy = map[string]<-chan struct{}{}
	}
	p.mem.busy[id] = done
	go func() { <-done; p.enqueue(p.key) }()
}

// flush writes what is finished, and goes on from what is written then: with
// the payloads that have found their place. If that fails, the write at the end
// of the pass finds out.
func (p *pass) flush(ctx context.Context) {
	d := plan.Decide(p.in)
	if err := p.write(ctx, d.Marker, plan.Keep); err != nil {
		return
	}
	p.settled()
	if err := p.look(); err != nil {
		p.log.V(1).Info("The object cannot be read after a write", "error", err.Error())
	}
}

// take adds an outcome to what is known of the object. word is that by which
// somebody else told it; empty: the handler has run.
func (p *pass) take(h *selection.Handler, due plan.Due, o handler.Outcome, patch *handler.Patch, word string) {
	merge, err := patch.MergePatch()
	if err != nil {
		o = handler.BadPatch(o, err)
	}
	r := run{id: h.Spec.ID, due: due, at: p.clock.Now(), chance: p.chance(), payload: o.Payload, patch: merge, before: due.Digest, word: word}
	r.outcome = planOutcome(o)
	if merge != nil {
		before := p.now
		p.now = merged(p.now, merge)
		if err := p.decideOn(p.in.Marker); err != nil {
			// A predicate panics on what the handler made of the object.
			p.now, merge, r.patch = before, nil, nil
			bad := handler.BadPatch(o, err)
			r.payload, r.outcome = bad.Payload, planOutcome(bad)
		}
	}
	if merge != nil {
		r.due.Digest = p.in.Object.Essence
		if own := p.in.Handlers[due.Index].Digest; own != "" {
			r.due.Digest = own
		}
	}
	p.woken = p.woken || r.patch != nil && fresh(r.id, due, p.in.Marker)
	p.mem.unwritten = append(p.mem.unwritten, r)
	p.apply(&r)
	record, _ := p.in.Marker.Record(r.id)
	state := r.outcome.State
	if record.State == storage.Failed {
		state = storage.Failed
	}
	handlerRuns.WithLabelValues(r.id, string(state)).Inc()
	p.tell(r, record)
}

// tell posts the events that an outcome is worth.
func (p *pass) tell(r run, record storage.Record) {
	switch {
	case record.State == storage.Failed && r.outcome.State != storage.Succeeded:
		report(p.recorder, p.seen, warning, ReasonFailed, r.id, "Handler %q failed for good after %s (%s): %s",
			r.id, attempts(record.Attempts), record.Reason, p.eventText(record.Message))
	case record.State == storage.Retrying && record.Attempts == 1:
		report(p.recorder, p.seen, warning, ReasonRetrying, r.id, "Handler %q will be retried (%s): %s",
			r.id, record.Reason, p.eventText(record.Message))
	}
}

func planOutcome(o handler.Outcome) plan.Outcome {
	out := plan.Outcome{After: -1, Reason: o.Reason, Message: o.Message, Completion: o.Completion}
	if o.After != nil {
		out.After = max(0, *o.After)
	}
	switch o.Kind {
	case handler.Succeeded:
		out.State, out.Message = storage.Succeeded, ""
	case handler.Waiting:
		out.State = storage.Waiting
	case handler.Retrying:
		out.State = storage.Retrying
	case handler.Failed:
		out.State = storage.Failed
	}
	return out
}

// request is what the handler is told.
func (p *pass) request(h *selection.Handler, due plan.Due) *handler.RawRequest {
	record, _ := p.in.Marker.Record(h.Spec.ID)
	r := &handler.RawRequest{Object: p.now} // Run makes the private copy
	r.Info = handler.Info{
		HandlerID: h.Spec.ID, Cause: causeOf(due.Cause), Attempt: due.Attempt, LastAttempt: due.Last,
		Started: due.Started, By: record.By, Fence: p.fence(), Patch: &handler.Patch{},
		IdempotencyID: idempotencyID(p.in.Object.UID, h.Spec.ID, due),
		Payloads:      p.payloads(),
	}
	if timeout := h.Spec.Retry.Timeout; timeout > 0 {
		r.Deadline = due.Started.Add(timeout)
	}
	if h.Spec.Diff {
		p.compare(h, r)
	}
	return r
}

// compare fills in what has changed since the handler finished, if that is
// known: the base must be what the handler finished.
func (p *pass) compare(h *selection.Handler, r *handler.RawRequest) {
	entry, ok := p.in.Marker.Entry(h.Spec.ID)
	_, tried := p.in.Marker.Record(h.Spec.ID)
	if p.in.Marker.Base == "" || !ok || tried && p.triedSince(h.Spec.ID) {
		return
	}
	text, err := storage.Uncompress(p.in.Marker.Base)
	if err != nil || storage.DigestOf(text) != p.in.Marker.Handled.Essence || (len(h.Spec.Fields) == 0 && entry.Digest != p.in.Marker.Handled.Essence) {
		return
	}
	var before, after map[string]any
	if apijson.UnmarshalCaseSensitivePreserveInts(text, &before) != nil ||
		apijson.UnmarshalCaseSensitivePreserveInts(p.set.Rules.Essence(p.now.Object), &after) != nil {
		return
	}
	r.Changes = handler.Changes(before, after)
	metadata, _ := before["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		before["metadata"] = metadata
	}
	metadata["name"], metadata["namespace"], metadata["uid"] = p.now.GetName(), p.now.GetNamespace(), string(p.now.GetUID())
	before["apiVersion"], before["kind"] = p.now.GetAPIVersion(), p.now.GetKind()
	r.Old = &unstructured.Unstructured{Object: before}
}

// triedSince: an attempt that finished saw another essence than the base.
func (p *pass) triedSince(id string) bool {
	record, _ := p.in.Marker.Record(id)
	return record.State.Finished()
}

func causeOf(c storage.Cause) handler.Cause {
	switch c {
	case storage.Update:
		return handler.Update
	case storage.Delete:
		return handler.Delete
	case storage.Resume:
		return handler.Resume
	}
	return handler.Create
}

// idempotencyID is the same for every run of a handler for the same state.
func idempotencyID(uid, id string, due plan.Due) string {
	digest := due.Digest
	if due.Cause == storage.Delete {
		digest = "" // there is one deletion, whatever is edited meanwhile
	}
	sum := sha256.Sum256([]byte(uid + "\n" + id + "\n" + string(due.Cause) + "\n" + digest))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
