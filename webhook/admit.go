package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// Decisions of admission, as they are counted.
const (
	DecisionUnchanged  = "unchanged"  // nothing to do
	DecisionOwn        = "own"        // the controller's own write
	DecisionUnselected = "unselected" // no handler and no defaults for this kind
	DecisionStamped    = "stamped"    // a marker or defaults were added
	DecisionRestored   = "restored"   // state that the user changed was put back
	DecisionNoRoom     = "no-room"    // the marker doesn't fit under the limit
	DecisionUnreadable = "unreadable" // a marker of a newer release, or a malformed one
	DecisionError      = "error"      // a predicate or a function for defaults failed
)

// Admission decides on admission requests: it stamps, restores and defaults.
// It has no clock, no client and no state, so the same request gets the same
// answer, dry or not.
type Admission struct {
	Prefix storage.Prefix
	Budget storage.Budget
	// Own lists the users whose writes pass untouched: the controllers'
	// ServiceAccounts.
	Own []string
	Log logr.Logger

	sets atomic.Pointer[map[schema.GroupVersionKind]*selection.Set]
}

// Declare sets what is registered, in place of what was. It may be called at
// any time.
func (a *Admission) Declare(sets []*selection.Set) {
	byKind := make(map[schema.GroupVersionKind]*selection.Set, len(sets))
	for _, set := range sets {
		byKind[set.Kind] = set
	}
	a.sets.Store(&byKind)
}

// set returns what is registered for a kind; nil: nothing.
func (a *Admission) set(kind schema.GroupVersionKind) *selection.Set {
	if sets := a.sets.Load(); sets != nil {
		return (*sets)[kind]
	}
	return nil
}

// review is one request on its way to an answer.
type review struct {
	*Admission
	request  *admissionv1.AdmissionRequest
	set      *selection.Set
	object   *unstructured.Unstructured // as the user wants it
	old      *unstructured.Unstructured // nil on CREATE
	ops      []operation
	warnings []string
}

// Admit implements Admitter. It never refuses a request.
func (a *Admission) Admit(_ context.Context, request *admissionv1.AdmissionRequest) Answer {
	kind := schema.GroupVersionKind(request.Kind)
	set := a.set(kind)
	switch {
	case slices.Contains(a.Own, request.UserInfo.Username):
		return allow(request, DecisionOwn)
	case set == nil:
		return allow(request, DecisionUnselected)
	}
	r := &review{Admission: a, request: request, set: set}
	var err error
	if r.object, err = decode(request.Object.Raw); err != nil {
		return r.answer(r.failed(err))
	}
	switch request.Operation {
	case admissionv1.Create:
		return r.answer(r.create())
	case admissionv1.Update:
		if r.old, err = decode(request.OldObject.Raw); err != nil {
			return r.answer(r.failed(err))
		}
		return r.answer(r.update())
	}
	return allow(request, DecisionUnchanged)
}

func decode(raw []byte) (*unstructured.Unstructured, error) {
	object := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return nil, errors.New("the object is no valid JSON object")
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// failed logs what kept an object from being stamped. The controller makes up
// for it and reports where the user looks.
func (r *review) failed(err error) string {
	r.Log.Error(err, "Admitted without a stamp", "kind", r.request.Kind.Kind,
		"namespace", r.request.Namespace, "name", r.request.Name, "operation", r.request.Operation)
	return DecisionError
}

func allow(request *admissionv1.AdmissionRequest, decision string) Answer {
	return Answer{Decision: decision, Response: &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}}
}

func (r *review) answer(decision string) Answer {
	answer := allow(r.request, decision)
	answer.Response.Warnings = r.warnings
	if len(r.ops) == 0 {
		return answer
	}
	patch, err := json.Marshal(r.ops)
	if err != nil {
		return allow(r.request, r.failed(fmt.Errorf("encode the patch: %w", err)))
	}
	kind := admissionv1.PatchTypeJSONPatch
	answer.Response.Patch, answer.Response.PatchType = patch, &kind
	return answer
}

// own returns the annotations of this operator among all.
func (r *review) own(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range annotations {
		if r.Prefix.Owns(key) {
			out[key] = value
		}
	}
	return out
}

// carry makes the object carry just these annotations of ours, and tells
// whether that changes anything.
func (r *review) carry(want map[string]string) bool {
	have := r.object.GetAnnotations()
	if maps.Equal(r.own(have), want) {
		return false
	}
	r.ops = append(r.ops, annotationOps(r.Prefix, have, want)...)
	return true
}
