package controller

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/plan"
)

// blame finds the patches of handlers for which the server refuses the write
// of a whole pass, by dry runs. Their handlers have failed for good: another
// attempt would end the same way. It tells whether it has found any. Where the
// server won't have the marker alone either, no patch is to blame.
func (p *pass) blame(ctx context.Context) bool {
	if !p.hasPatch() || p.look() != nil {
		return false
	}
	marker, _, err := p.budget.Fit(p.prefix, p.seen.GetAnnotations(), plan.Decide(p.in).Marker)
	if err != nil {
		return false
	}
	changes := p.prefix.Changes(p.basis, p.found, marker)
	if p.wouldRefuse(ctx, markerOps(len(p.seen.GetAnnotations()) > 0, changes)) != nil {
		return false
	}
	found, after := false, p.seen
	for i := range p.mem.unwritten {
		r := &p.mem.unwritten[i]
		if r.patch == nil {
			continue
		}
		next := merged(after, r.patch)
		ops, err := objectOps(p.seen, next)
		if err == nil {
			err = p.wouldRefuse(ctx, ops)
		}
		if err == nil {
			after = next
			continue
		}
		if fateOf(err) != refused {
			return found
		}
		found = true
		p.failPatch(r, err)
	}
	return found
}

// failPatch turns a run with a patch that the server refuses into a failure
// without one; its payload stays.
func (p *pass) failPatch(r *run, refusal error) {
	text := fmt.Errorf("patch: %s", safeText(refusal)) // not wrapped: it holds values of the object
	r.patch, r.due.Digest = nil, r.before
	r.outcome = planOutcome(handler.BadPatch(handler.Outcome{}, text))
	report(p.recorder, p.seen, warning, ReasonFailed, r.id, "Handler %q failed for good after %s (%s): %s",
		r.id, attempts(r.due.Attempt), r.outcome.Reason, p.eventText(r.outcome.Message))
}

// wouldRefuse asks the server by a dry run.
func (p *pass) wouldRefuse(ctx context.Context, ops []operation) error {
	if len(ops) == 0 {
		return nil
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	ctx, cancel := writeContext(ctx)
	defer cancel()
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(p.gvk)
	partial.Namespace, partial.Name = p.key.Namespace, p.key.Name
	return p.client.Patch(ctx, partial, client.RawPatch(types.JSONPatchType, body), client.DryRunAll, client.FieldOwner(fieldManager))
}
