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
	decision := r.defaults(handler.Create)
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

// defaults sets what functions for defaults set where the object has nothing.
// One that fails doesn't keep the others from it.
func (r *review) defaults(operation handler.Cause) string {
	before, decision := len(r.ops), DecisionUnchanged
	for _, d := range r.set.Defaults {
		if d.Spec.On&operation == 0 {
			continue
		}
		selected, err := d.Selects(r.object)
		if err == nil && selected {
			err = r.setDefaults(d, operation)
		}
		if err != nil {
			r.Log.Error(err, "Admitted without all defaults", "defaults", d.Spec.ID, "kind", r.request.Kind.Kind,
				"namespace", r.request.Namespace, "name", r.request.Name, "operation", r.request.Operation)
			decision = DecisionError
		}
	}
	if decision == DecisionUnchanged && len(r.ops) > before {
		return DecisionStamped
	}
	return decision
}

// setDefaults calls one function for defaults. What comes with an error counts
// all the same.
func (r *review) setDefaults(d *selection.Handler, operation handler.Cause) (err error) {
	defer func() {
		if p := handler.RecoverPanic(recover()); p != nil {
			err = p
		}
	}()
	filled, err := d.Registration.Defaults(r.object, r.admission(operation))
	if filled == nil {
		return err
	}
	for key := range filled.Object {
		if key == "status" || key == "apiVersion" || key == "kind" {
			filled.Object[key] = r.object.Object[key]
		}
	}
	r.ops = append(r.ops, additions(nil, r.object.Object, filled.Object)...)
	r.object = filled
	return err
}

// admission is what functions for defaults are told of the request.
func (r *review) admission(operation handler.Cause) handler.Admission {
	user := r.request.UserInfo
	extra := make(map[string][]string, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = values
	}
	return handler.Admission{
		Operation: operation, User: user.Username, UserUID: user.UID, Groups: user.Groups, Extra: extra,
		DryRun: r.request.DryRun != nil && *r.request.DryRun,
	}
}
