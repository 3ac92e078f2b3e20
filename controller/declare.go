package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
)

// Declaration is all that an operator is to do.
type Declaration struct {
	Registrations []handler.Registration
	// Removals is what objects have to be rid of, by kind. It stays declared
	// until Operator.Cleaned says that they are.
	Removals map[schema.GroupVersionKind]Removal
	// Keep lists kinds whose finalizers stay though no handler is registered
	// for them at present. KeepAll is for kinds whose names are not known.
	Keep    []schema.GroupKind
	KeepAll bool
}

// declared is a declaration that has been checked.
type declared struct {
	sets     []*selection.Set
	removals map[schema.GroupVersionKind]Removal
	keep     []schema.GroupKind
	keepAll  bool
}

// Declare replaces all that the operator does, also while it runs: what is the
// same goes on undisturbed. It may be called from anywhere. An error leaves
// all as it was.
func (op *Operator) Declare(d Declaration) error {
	sets, err := op.compile(d.Registrations)
	if err != nil {
		return err
	}
	op.declaring.Lock()
	defer op.declaring.Unlock()
	op.declared = &declared{sets: sets, removals: op.numbered(d.Removals), keep: d.Keep, keepAll: d.KeepAll}
	op.admission.Declare(sets)
	there := map[string]bool{}
	for _, set := range sets {
		for _, h := range set.Handlers {
			there[h.Spec.ID] = true
		}
	}
	op.tracker.retire(func(id string) bool { return there[id] })
	close(op.redeclared)
	op.redeclared = make(chan struct{})
	return nil
}

// numbered gives each removal a number that is new where something is to be
// removed that was not before: what was removed once may have come again.
func (op *Operator) numbered(removals map[schema.GroupVersionKind]Removal) map[schema.GroupVersionKind]Removal {
	out := map[schema.GroupVersionKind]Removal{}
	for gvk, r := range removals {
		r.IDs = slices.Sorted(slices.Values(r.IDs))
		r.Namespaces = slices.Sorted(slices.Values(r.Namespaces))
		before, ok := Removal{}, false
		if op.declared != nil {
			before, ok = op.declared.removals[gvk]
		}
		more := !ok || r.All && !before.All || slices.ContainsFunc(r.IDs, func(id string) bool { return !slices.Contains(before.IDs, id) })
		if r.serial = before.serial; more {
			r.serial = serials.Add(1)
		}
		out[gvk] = r
	}
	return out
}

// Check tells what of registrations cannot be declared.
func (op *Operator) Check(registrations []handler.Registration) error {
	_, err := op.compile(registrations)
	return err
}

// compile has no handler select the operator's own objects: it would handle
// its own writes, and be handed its own keys.
func (op *Operator) compile(registrations []handler.Registration) ([]*selection.Set, error) {
	registrations = slices.Clone(registrations)
	for i := range registrations {
		if err := op.confine(&registrations[i].Spec); err != nil {
			return nil, err
		}
		selects := registrations[i].Selects
		registrations[i].Selects = func(u *unstructured.Unstructured) (bool, error) {
			if op.owns(u) {
				return false, nil
			}
			if selects == nil {
				return true, nil
			}
			return selects(u)
		}
	}
	return selection.Compile(registrations, op.options.Scheme, op.options.IgnoreAnnotations)
}

// confine keeps a handler to the namespaces of the operator.
func (op *Operator) confine(spec *handler.Spec) error {
	allowed := op.options.Namespaces
	if len(allowed) == 0 {
		return nil
	}
	if len(spec.Namespaces) == 0 {
		spec.Namespaces = slices.Clone(allowed)
		return nil
	}
	for _, name := range spec.Namespaces {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("handler %q: namespace %q is not one of the operator's: %s", spec.ID, name, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// owns tells whether an object is one that the operator keeps for itself: its
// ledger, its Lease, its Secrets.
func (op *Operator) owns(u *unstructured.Unstructured) bool {
	if u.GetNamespace() != op.options.Namespace {
		return false
	}
	name := u.GetName()
	return name == op.name() || strings.HasPrefix(name, op.name()+"-") ||
		op.options.Webhook != nil && u.GetKind() == "Secret" && name == op.options.Webhook.Secret
}

// current returns what is declared, and a channel that closes when that is no
// longer so.
func (op *Operator) current() (*declared, <-chan struct{}) {
	op.declaring.Lock()
	defer op.declaring.Unlock()
	return op.declared, op.redeclared
}

// duties returns what to do for each kind that the controller looks after.
func (d *declared) duties() map[schema.GroupKind]duty {
	duties := map[schema.GroupKind]duty{}
	for _, set := range d.sets {
		if len(set.Handlers) > 0 {
			duties[set.Kind.GroupKind()] = duty{set: set}
		}
	}
	for gvk, removal := range d.removals {
		t, ok := duties[gvk.GroupKind()]
		if !ok {
			t.set = &selection.Set{Kind: gvk}
		}
		t.removal = removal
		t.removal.All = removal.All && !ok
		duties[gvk.GroupKind()] = t
	}
	return duties
}

// known lists the kinds that handlers are declared for, in whatever version.
func (d *declared) known() map[schema.GroupKind]bool {
	known := map[schema.GroupKind]bool{}
	for kind := range d.duties() {
		known[kind] = true
	}
	for _, kind := range d.keep {
		known[kind] = true
	}
	return known
}

// Counts tells on how many objects a handler stands where, as far as this
// process has looked: it does as the leader. An ID that ends in a slash stands
// for all handlers whose IDs begin with it and have no further slash: each
// object counts once, by what outweighs the rest.
func (op *Operator) Counts(handlerID string) Counts { return op.tracker.of(handlerID) }

// Wake has another look at the objects of a namespace: what selects them may
// have changed otherwise than by their own change.
func (op *Operator) Wake(ctx context.Context, namespace string) error {
	op.fleet.mu.Lock()
	kinds := slices.Collect(maps.Values(op.fleet.kinds))
	op.fleet.mu.Unlock()
	var errs []error
	for _, r := range kinds {
		errs = append(errs, r.wake(ctx, namespace))
	}
	return errors.Join(errs...)
}

// Awaited tells what of the handlers for a kind that prefix stands for, as for
// Counts, is not in force yet, in this process; empty: all is.
func (op *Operator) Awaited(gvk schema.GroupVersionKind, prefix string) string {
	now, _ := op.current()
	if now == nil {
		return "nothing is declared yet"
	}
	if op.options.Webhook != nil {
		if text := op.sent.awaited(now, gvk, op.options.Clock.Now()); text != "" {
			return text
		}
	}
	d, ok := now.duties()[gvk.GroupKind()]
	if !ok {
		return ""
	}
	op.fleet.mu.Lock()
	r := op.fleet.kinds[gvk.GroupKind()]
	op.fleet.mu.Unlock()
	if r == nil {
		return "the watch is about to begin"
	}
	v := r.view.Load()
	if trouble := r.trouble(); v == nil && trouble != nil {
		return "the objects are about to be known: " + safeText(trouble)
	}
	if v == nil || v.set.Kind != gvk || !slices.EqualFunc(group(v.set, prefix), group(d.set, prefix), sameHandler) {
		return "the objects are about to be known"
	}
	return ""
}

// group lists the handlers of a set whose IDs begin with prefix, which ends in
// a slash, and have no further slash.
func group(set *selection.Set, prefix string) (of []*selection.Handler) {
	for _, h := range set.Handlers {
		if h.Spec.ID[:strings.LastIndexByte(h.Spec.ID, '/')+1] == prefix {
			of = append(of, h)
		}
	}
	return of
}
