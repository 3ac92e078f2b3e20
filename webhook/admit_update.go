package webhook

import (
	"errors"
	"maps"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// update puts back the state that the user changed, and stamps the object if
// what counts of it has changed.
func (r *review) update() string {
	restored := r.restored()
	if r.object.GetDeletionTimestamp() != nil {
		return r.finish(restored, DecisionUnchanged)
	}
	decision := r.defaults(handler.Update)
	want, finalizer, err := r.stampChanged(restored)
	switch {
	case errors.Is(err, storage.ErrNoRoom):
		if decision = r.finish(restored, decision); decision != DecisionNoRoom {
			r.warnings = append(r.warnings, "dogear: the object's annotations leave no room for its new progress")
		}
		return DecisionNoRoom
	case err != nil:
		var format *storage.FormatError
		decision = DecisionUnreadable
		if !errors.As(err, &format) {
			decision = r.failed(err)
		}
		r.finish(restored, decision)
		return decision
	}
	ops := finalizerOps(r.object.GetFinalizers(), r.Prefix.Finalizer(), finalizer)
	r.ops = append(r.ops, ops...)
	if decision == DecisionUnchanged && (!maps.Equal(want, restored) || len(ops) > 0) {
		decision = DecisionStamped
	}
	return r.finish(want, decision)
}

// restored is our annotations as the old object has them; what users may
// change is taken from the new one.
func (r *review) restored() map[string]string {
	restored := r.own(r.old.GetAnnotations())
	now := r.object.GetAnnotations()
	for _, name := range []string{storage.KeyRetry, storage.KeyPaused} {
		key := r.Prefix.Key(name)
		if value, ok := now[key]; ok {
			restored[key] = value
		} else {
			delete(restored, key)
		}
	}
	return restored
}

// finish has the object carry what it has to, unless the user has just filled
// the room for it: then the patch would have the user's request refused.
func (r *review) finish(want map[string]string, decision string) string {
	others := r.object.GetAnnotations()
	maps.DeleteFunc(others, func(key, _ string) bool { return r.Prefix.Owns(key) })
	if storage.Size(others)+storage.Size(want) > storage.ServerLimit {
		r.warnings = append(r.warnings, "dogear: the object's annotations leave no room for its progress")
		return DecisionNoRoom
	}
	if r.carry(want) && decision == DecisionUnchanged {
		return DecisionRestored
	}
	return decision
}

// stampChanged returns the annotations of ours that a changed object has to
// carry: those restored, if nothing that counts has changed.
func (r *review) stampChanged(restored map[string]string) (map[string]string, plan.Finalizer, error) {
	finalizer := r.Prefix.Finalizer()
	before, seen, err := r.set.Look(r.old, finalizer)
	if err != nil {
		return nil, plan.Keep, err
	}
	after, handlers, err := r.set.Look(r.object, finalizer)
	if err != nil {
		return nil, plan.Keep, err
	}
	if !changed(before, after, seen, handlers) {
		if before.Held && !after.Held {
			return restored, plan.Add, nil // dropped by a replace; in deletion it is the user's to drop
		}
		return restored, plan.Keep, nil
	}
	after.Identity = selection.Identity(r.old)
	if before.Essence == after.Essence {
		after.Birth = r.set.Rules.BirthDigest(r.object.Object)
	}
	marker, err := r.Prefix.Read(restored)
	if err != nil {
		return nil, plan.Keep, err
	}
	trusted := plan.Trust(marker, after.Identity)
	for i, h := range r.set.Handlers {
		_, entered := trusted.Entry(h.Spec.ID)
		_, recorded := trusted.Record(h.Spec.ID)
		if h.Spec.Existing == handler.AdoptExisting && !entered && !recorded {
			// An older object, or a younger one that was made while no webhook
			// was up: the controller tells them apart.
			handlers[i].On &^= plan.OnCreate | plan.OnUpdate
		}
	}
	paused := trusted.Paused
	trusted.Paused = false
	retry := trusted.Retry
	trusted.Retry = "" // the controller consumes it
	stamped, change := plan.Stamp(plan.Input{Object: after, Marker: trusted, Handlers: handlers}, r.request.UserInfo.Username)
	stamped.Paused, stamped.Retry = paused, retry
	stamped.Base = r.base(trusted, stamped, before, handlers)
	fitted, _, err := r.Budget.Fit(r.Prefix, r.object.GetAnnotations(), stamped)
	if err != nil {
		return nil, plan.Keep, err
	}
	want := map[string]string{}
	for key, value := range restored {
		want[key] = value
	}
	for _, c := range r.Prefix.Changes(restored, marker, fitted) {
		switch {
		case c.Same:
		case c.New == "":
			delete(want, c.Key)
		default:
			want[c.Key] = c.New
		}
	}
	return want, change, nil
}

// changed tells whether anything has changed that a decision rests on.
func changed(before, after plan.Object, seen, now []plan.Handler) bool {
	if before.Essence != after.Essence {
		return true
	}
	for i := range now {
		if seen[i].Selected != now[i].Selected || seen[i].Digest != now[i].Digest {
			return true
		}
	}
	return false
}

// base keeps the essence before the first change since everything was
// handled, where a handler wants to know what changed. Never of a Secret.
func (r *review) base(trusted, stamped storage.Marker, before plan.Object, handlers []plan.Handler) string {
	if stamped.Progress == nil || trusted.Base != "" {
		return stamped.Base
	}
	wanted := false
	for _, h := range handlers {
		wanted = wanted || (h.Diff && h.Selected)
	}
	if !wanted || trusted.Handled == nil || r.request.Kind.Kind == "Secret" && r.request.Kind.Group == "" {
		return ""
	}
	if trusted.Handled.Essence != before.Essence {
		return ""
	}
	return storage.Compress(r.set.Rules.Essence(r.old.Object))
}
