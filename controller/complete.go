package controller

import (
	"context"
	"errors"
	"slices"

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
	// ErrUnwritten: the outcome counts, but could not be written yet.
	ErrUnwritten = errors.New("the outcome is not written yet")
)

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
// run now. It returns when the outcome is written; until then ctx may end it.
// A word counts once.
func (op *Operator) Complete(ctx context.Context, c Completion) error {
	op.fleet.mu.Lock()
	r := op.fleet.kinds[c.Kind.GroupKind()]
	op.fleet.mu.Unlock()
	switch {
	case !op.lease.held() || r == nil && op.options.LeaderElection && op.ledger.Load() == nil:
		return ErrNotLeading
	case r == nil || r.gvk != c.Kind:
		return ErrSuperseded
	case r.view.Load() == nil:
		return ErrNotLeading // not yet
	}
	waiting := &completion{Completion: c, answered: make(chan error, 1)}
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	r.await(key, waiting)
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

// await leaves a completion for the next pass over the object.
func (m *memory) await(key types.NamespacedName, c *completion) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.completions == nil {
		m.completions = map[types.NamespacedName]completions{}
	}
	m.completions[key] = append(m.completions[key], c)
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
		record, _ := p.in.Marker.Record(c.HandlerID)
		// What an object was that has changed since doesn't count: the handler
		// is due again.
		if i < 0 || p.changedSince(i, record) || c.UID != p.mem.uid || record.State != storage.Waiting || record.Completion == "" || record.Completion != c.Word {
			c.answered <- ErrSuperseded
			continue
		}
		h := p.set.Handlers[i]
		due := plan.Due{Index: i, Cause: record.Cause, Digest: record.Essence, Attempt: record.Attempts + 1, Started: record.Started}
		due.Last = h.Spec.Retry.Limit > 0 && due.Attempt >= h.Spec.Retry.Limit
		outcome := handler.Classify(c.Result, c.Err, h.Spec.OnError)
		if err := p.take(h, due, outcome, c.Patch); err != nil {
			c.answered <- err
			continue
		}
		p.mem.completed = append(p.mem.completed, c)
	}
}

// changedSince tells whether a handler would see something else now.
func (p *pass) changedSince(index int, r storage.Record) bool {
	digest := p.in.Object.Essence
	if own := p.in.Handlers[index].Digest; own != "" {
		digest = own
	}
	return r.Cause != storage.Delete && r.Essence != digest
}
