package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// write makes the object carry the marker, with the finalizer as decided and
// the patches of unwritten runs applied: payloads for .status first, then all
// else in one request. Nothing to change: no request.
func (p *pass) write(ctx context.Context, marker storage.Marker, finalizer plan.Finalizer) error {
	marker, err := p.writeStatus(ctx, marker)
	if err != nil {
		return p.failed(err, nil)
	}
	marker = p.current(marker)
	patched := p.now != p.seen && p.hasPatch()
	changes := p.prefix.Changes(p.basis, p.found, marker)
	if finalizer == plan.Remove && p.partial {
		return errAgain // an own write may have landed on a change that was not looked at
	}
	edits := finalizerOps(p.seen.GetResourceVersion(), p.seen.GetFinalizers(), p.prefix.Finalizer(), finalizer)
	if len(changes) == 0 && len(edits) == 0 && !patched {
		p.mem.known = &marker
		return nil
	}
	fitted, cut, err := p.budget.Fit(p.prefix, p.seen.GetAnnotations(), marker)
	if err != nil {
		return err
	}
	if len(cut) > 0 {
		p.reportOnce(p.seen, "cut", warning, ReasonTooLarge, "No room in the annotations for: %q", cut)
		changes = p.prefix.Changes(p.basis, p.found, fitted)
	}
	if patched {
		return p.writePatched(ctx, fitted, finalizer)
	}
	ops := append([]operation{testUID(p.mem.uid)}, markerOps(len(p.seen.GetAnnotations()) > 0, changes)...)
	return p.send(ctx, append(ops, edits...), fitted, false)
}

// current is the marker with the generation that the own write of .status made
// of the object, where that has no endpoint of its own.
func (p *pass) current(marker storage.Marker) storage.Marker {
	was, is := p.in.Object.Generation, p.seen.GetGeneration()
	if p.subresource.Load() || was == is || marker.Handled == nil || marker.Handled.Generation != was || p.set.Rules.Digest(p.seen.Object) != marker.Handled.Essence {
		return marker
	}
	handled := *marker.Handled
	handled.Generation = is
	marker.Handled = &handled
	return marker
}

func (p *pass) hasPatch() bool {
	return slices.ContainsFunc(p.mem.unwritten, func(r run) bool { return r.patch != nil })
}

// writePatched writes what handlers want of the object together with the
// marker. Such a write is guarded by the object's version, so that the reply
// shows what the server made of just this.
func (p *pass) writePatched(ctx context.Context, marker storage.Marker, finalizer plan.Finalizer) error {
	if !sameMarker(p.prefix, p.basis, p.seen.GetAnnotations()) {
		return errAgain
	}
	after := p.seen.DeepCopy()
	for _, r := range p.mem.unwritten {
		if r.patch != nil {
			after = merged(after, r.patch)
		}
	}
	after = after.DeepCopy()
	annotations := after.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return p.prefix.Owns(key) && key != p.prefix.Key(storage.KeyPaused) })
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range p.prefix.Render(marker) {
		annotations[key] = value
	}
	after.SetAnnotations(annotations)
	finalizers, ours := after.GetFinalizers(), p.prefix.Finalizer()
	switch finalizer {
	case plan.Add:
		after.SetFinalizers(append(finalizers, ours))
	case plan.Remove:
		after.SetFinalizers(slices.DeleteFunc(finalizers, func(f string) bool { return f == ours }))
	}
	ops, err := objectOps(p.seen, after)
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	if len(ops) == 0 {
		p.mem.known = &marker
		return nil
	}
	expected := p.in
	if err := p.send(ctx, append([]operation{testUID(p.mem.uid)}, ops...), marker, true); err != nil {
		return err
	}
	return p.correct(ctx, expected, marker)
}

func sameMarker(prefix storage.Prefix, a, b map[string]string) bool {
	own := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for key, value := range m {
			if prefix.Owns(key) {
				out[key] = value
			}
		}
		return out
	}
	return maps.Equal(own(a), own(b))
}

// send sends the one request of a pass and takes in the reply.
func (p *pass) send(ctx context.Context, ops []operation, marker storage.Marker, whole bool) error {
	body, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	reply, err := p.patch(ctx, p.key.NamespacedName, body, whole)
	if err != nil {
		return p.failed(err, &marker)
	}
	writes.WithLabelValues("marker").Inc()
	p.memory.wroteVersion(p.mem, reply.GetResourceVersion(), p.clock.Now())
	if p.partial = !whole; p.partial {
		reply = withMetadata(p.seen, reply)
	}
	p.seen = reply
	p.mem.known, p.mem.attempted = &marker, nil
	p.found, p.basis = marker, reply.GetAnnotations()
	p.mem.held.Store(slices.Contains(reply.GetFinalizers(), p.prefix.Finalizer()))
	return nil
}

// withMetadata is the object as seen, with the metadata of a reply that has
// nothing else.
func withMetadata(seen, reply *unstructured.Unstructured) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: maps.Clone(seen.Object)}
	u.Object["metadata"] = reply.Object["metadata"]
	return u
}

// failed turns the error of a write into what the pass has to do about it.
func (p *pass) failed(err error, attempted *storage.Marker) error {
	switch fateOf(err) {
	case gone:
		return errGone
	case refused:
		p.mem.refusal = err
		return errAgain
	case unknown:
		p.mem.attempted = attempted
	}
	return err
}

// tookStatus takes in the reply to a status write.
func (p *pass) tookStatus(reply *unstructured.Unstructured) error {
	writes.WithLabelValues("status").Inc()
	p.memory.wroteVersion(p.mem, reply.GetResourceVersion(), p.clock.Now())
	same := p.set.Rules.Digest(reply.Object) == p.set.Rules.Digest(p.seen.Object)
	before := p.seen
	// Somebody may have changed what was decided on before this write.
	p.partial = p.partial || !same || !sameMarker(p.prefix, before.GetAnnotations(), reply.GetAnnotations())
	p.seen = reply
	if p.now == before {
		p.now = reply
	} else if !same {
		return errAgain // a handler's patch was made for another object
	}
	return nil
}

// correct makes the digests that handlers with a patch have finished those of
// what the server stored, if that is not what was expected: admission or
// defaulting changed it once more. Otherwise they would run for their own
// patch, and perhaps for ever.
func (p *pass) correct(ctx context.Context, expected plan.Input, marker storage.Marker) error {
	object, handlers, err := p.set.Look(p.seen, p.prefix.Finalizer())
	if err != nil {
		return nil //nolint:nilerr // the next look reports it
	}
	corrected := marker
	for i := range handlers {
		was, is := expected.Object.Essence, object.Essence
		if handlers[i].Digest != "" {
			was, is = expected.Handlers[i].Digest, handlers[i].Digest
		}
		patched := slices.ContainsFunc(p.mem.unwritten, func(r run) bool { return r.id == handlers[i].ID && r.patch != nil })
		if was != is && patched {
			corrected = corrected.WithDigest(handlers[i].ID, was, is)
		}
	}
	p.settled()
	p.now = p.seen
	if corrected.Equal(marker) {
		return nil
	}
	return p.write(ctx, corrected, plan.Keep)
}
