package webhook

import (
	"errors"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// create stamps a new object. It has no uid yet, and with generateName no
// name; whatever state the user sent along belongs to another object.
func (r *review) create() string {
	if kind := r.request.Kind; kind.Group != "" || kind.Kind != "Namespace" {
		r.object.SetNamespace(r.request.Namespace) // which for a Namespace is its own name
	}
	kept := map[string]string{}
	if paused := r.Prefix.Key(storage.KeyPaused); r.object.GetAnnotations()[paused] != "" {
		kept[paused] = r.object.GetAnnotations()[paused]
	}
	decision := DecisionUnchanged
	if r.defaults(handler.Create) {
		decision = DecisionStamped
	}
	want, finalizer, err := r.stampNew(kept)
	switch {
	case errors.Is(err, storage.ErrNoRoom):
		r.warnings = append(r.warnings, "dogear: the object's annotations leave no room for its progress: it is handled, but its state cannot be shown")
		decision, want = DecisionNoRoom, kept
	case err != nil:
		decision, want = r.failed(err), kept
	}
	changed := r.carry(want)
	if finalizer == plan.Add {
		r.ops = append(r.ops, addFinalizer(r.object.GetFinalizers(), r.Prefix.Finalizer()))
		changed = true
	}
	if changed && decision == DecisionUnchanged {
		decision = DecisionStamped
	}
	return decision
}

// stampNew returns the annotations of ours that a new object has to carry.
func (r *review) stampNew(kept map[string]string) (map[string]string, plan.Finalizer, error) {
	marker, err := r.Prefix.Read(kept)
	if err != nil {
		marker = storage.Marker{Paused: true} // the only one that was kept
	}
	object, handlers, err := r.set.Look(r.object, r.Prefix.Finalizer())
	if err != nil {
		return nil, plan.Keep, err
	}
	object.UID = ""
	object.Essence = r.set.Rules.BirthDigest(r.object.Object)
	paused := marker.Paused
	marker.Paused = false // is a reason not to run, but none not to stamp
	stamped, finalizer := plan.Stamp(plan.Input{Object: object, Marker: marker, Handlers: handlers}, r.request.UserInfo.Username)
	stamped.Paused = paused
	fitted, _, err := r.Budget.Fit(r.Prefix, r.object.GetAnnotations(), stamped)
	if err != nil {
		return nil, finalizer, err
	}
	want := r.Prefix.Render(fitted)
	for key, value := range kept {
		want[key] = value
	}
	return want, finalizer, nil
}

// defaults sets what functions for defaults set where the object has nothing,
// and tells whether that was anything.
func (r *review) defaults(operation handler.Cause) bool {
	before := len(r.ops)
	for _, d := range r.set.Defaults {
		if d.Spec.On&operation == 0 {
			continue
		}
		if selected, err := d.Selects(r.object); err != nil || !selected {
			if err != nil {
				r.failed(err)
			}
			continue
		}
		r.setDefaults(d, operation)
	}
	return len(r.ops) > before
}

func (r *review) setDefaults(d *selection.Handler, operation handler.Cause) {
	defer func() {
		if err := handler.RecoverPanic(recover()); err != nil {
			r.failed(err)
		}
	}()
	filled, err := d.Registration.Defaults(r.object, handler.Admission{
		Operation: operation, User: r.request.UserInfo.Username, DryRun: r.request.DryRun != nil && *r.request.DryRun,
	})
	if err != nil {
		r.failed(err)
		return
	}
	for key := range filled.Object {
		if key == "status" || key == "apiVersion" || key == "kind" {
			filled.Object[key] = r.object.Object[key]
		}
	}
	r.ops = append(r.ops, additions(nil, r.object.Object, filled.Object)...)
	r.object = filled
}
