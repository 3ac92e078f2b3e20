package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// Errors of Operator.Complete.
var (
	// ErrNotLeading: this process is not the one that writes. Ask another, or later.
	ErrNotLeading = errors.New("this process does not handle objects at present")
	// ErrSuperseded: the handler does not wait for this any more: it was
	// completed before, it ran again, or the object is gone.
	ErrSuperseded = errors.New("the handler does not wait for this any more")
	// ErrUnwritten: nothing is known to be written. The outcome may have been
	// taken in or not: tell it again, until another answer comes.
	ErrUnwritten = errors.New("the outcome could not be written yet: tell it again")
)

// completeTimeout is how long Complete waits for an outcome to be written.
const completeTimeout = 30 * time.Second

// Completion is how something ended that a handler waits for.
type Completion struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	HandlerID       string
	// Word is that of the handler's Result.
	Word string
	// Result, Err and Patch are as if the handler had returned them now.
	Result handler.Result
	Err    error
	Patch  *handler.Patch
}

// completion is a Completion on its way to the pass that takes it in.
type completion struct {
	Completion
	answered chan error // gets one answer
}

type completions []*completion

// Complete ends the waiting of a handler that gave a word for it, as if it had
// run now. It returns when the outcome is written, after 30 s at most, or with
// ctx. A word counts once: who tells it again before the first is written gets
// the answer of the first.
func (op *Operator) Complete(ctx context.Context, c Completion) error {
	r, err := op.completing(c.Kind.GroupKind())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	waiting := &completion{Completion: c, answered: make(chan error, 1)}
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	r.await(key, waiting)
	defer r.unawait(key, waiting)
	r.enqueue(reconcile.Request{NamespacedName: key})
	select {
	case err := <-waiting.answered:
		return err
	case <-ctx.Done():
		return ErrUnwritten
	case <-r.context.Done():
		return ErrNotLeading
	}
}

// completing returns the kind whose passes take in what has ended. The version
// that it is handled in may have changed since.
func (op *Operator) completing(kind schema.GroupKind) (*running, error) {
	now, _ := op.current()
	if !op.lease.held() || now == nil || op.options.LeaderElection && op.ledger.Load() == nil {
		return nil, ErrNotLeading
	}
	if d, ok := now.duties()[kind]; !ok || len(d.set.Handlers) == 0 {
		if now.keepAll || slices.Contains(now.keep, kind) {
			return nil, ErrNotLeading // its handlers may come again
		}
		return nil, ErrSuperseded
	}
	op.fleet.mu.Lock()
	r := op.fleet.kinds[kind]
	op.fleet.mu.Unlock()
	if r == nil || r.stopped() || r.view.Load() == nil {
		return nil, ErrNotLeading // not yet
	}
	return r, nil
}

// await leaves a completion for the next pass over the object.
func (m *memory) await(key types.NamespacedName, c *completion) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.completions == nil {
		m.completions = map[types.NamespacedName]completions{}
	}
	m.completions[key] = append(m.completions[key], c)
}

// unawait takes back a completion that was not looked at.
func (m *memory) unawait(key types.NamespacedName, c *completion) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.completions[key] = slices.DeleteFunc(m.completions[key], func(other *completion) bool { return other == c })
	if len(m.completions[key]) == 0 {
		delete(m.completions, key)
	}
}

// takeCompletions returns what is left for an object.
func (m *memory) takeCompletions(key types.NamespacedName) completions {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.completions[key]
	delete(m.completions, key)
	return all
}

// answer tells what became of all of them.
func (all completions) answer(err error) {
	for _, c := range all {
		c.answered <- err
	}
}

// complete takes in the outcomes that others have sent. Those that count are
// answered when they are written.
func (p *pass) complete() {
	for _, c := range p.takeCompletions(p.key.NamespacedName) {
		i := slices.Index(p.ids, c.HandlerID)
		switch {
		case i < 0 || c.UID != p.mem.uid:
			c.answered <- ErrSuperseded
			continue
		case p.tookIn(c): // sent again, as it could not be written at once
		case !p.awaits(i, c.Word):
			c.answered <- ErrSuperseded
			continue
		default:
			h := p.set.Handlers[i]
			record, _ := p.in.Marker.Record(c.HandlerID)
			due := plan.Due{Index: i, Cause: record.Cause, Digest: record.Essence, Attempt: record.Attempts + 1, Started: record.Started}
			due.Last = h.Spec.Retry.Limit > 0 && due.Attempt >= h.Spec.Retry.Limit
			p.take(h, due, handler.Classify(c.Result, c.Err, h.Spec.OnError), c.Patch, c.Word)
		}
		p.mem.completed = append(p.mem.completed, c)
	}
}

// tookIn tells whether the outcome has been taken in and is not written yet.
func (p *pass) tookIn(c *completion) bool {
	return c.Word != "" && slices.ContainsFunc(p.mem.unwritten, func(r run) bool { return r.id == c.HandlerID && r.word == c.Word })
}

// awaits tells whether a handler waits for a word. What an object was that has
// changed since doesn't count: the handler is due again.
func (p *pass) awaits(index int, word string) bool {
	record, _ := p.in.Marker.Record(p.ids[index])
	return record.State == storage.Waiting && word != "" && record.Completion == word && !p.changedSince(index, record)
}

// changedSince tells whether a handler would see something else now.
func (p *pass) changedSince(index int, r storage.Record) bool {
	digest := p.in.Object.Essence
	if own := p.in.Handlers[index].Digest; own != "" {
		digest = own
	}
	return r.Cause != storage.Delete && r.Essence != digest
}

// gone forgets the object, and tells so those that know what it waited for.
// Another may bear its name by now.
func (p *pass) gone() {
	p.forget(p.key.NamespacedName)
	p.mem.completed.answer(ErrSuperseded)
	p.mem.completed = nil
	for _, c := range p.takeCompletions(p.key.NamespacedName) {
		if c.UID == p.mem.uid {
			c.answered <- ErrSuperseded
			continue
		}
		p.await(p.key.NamespacedName, c)
		p.enqueue(p.key)
	}
}
