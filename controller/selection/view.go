package selection

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// Look returns the object and the handlers of the set as the decision sees
// them. Adopt and Resume are left to the caller. It fails where a predicate
// panics.
func (s *Set) Look(u *unstructured.Unstructured, finalizer string) (plan.Object, []plan.Handler, error) {
	object := plan.Object{
		Identity:   Identity(u),
		Generation: u.GetGeneration(),
		Deleting:   u.GetDeletionTimestamp() != nil,
		Held:       slices.Contains(u.GetFinalizers(), finalizer),
		Essence:    s.Rules.Digest(u.Object),
	}
	handlers := make([]plan.Handler, len(s.Handlers))
	for i, h := range s.Handlers {
		handlers[i] = h.base
		selected, err := h.Selects(u)
		if err != nil {
			return object, nil, err
		}
		handlers[i].Selected = selected
		if len(h.fields) > 0 {
			handlers[i].Digest = s.Rules.FieldsDigest(u.Object, h.fields)
		}
	}
	return object, handlers, nil
}

// Identity is what a marker on the object is bound to.
func Identity(u *unstructured.Unstructured) storage.Identity {
	return storage.Identity{
		UID: string(u.GetUID()), Namespace: u.GetNamespace(), Name: u.GetName(), Kind: u.GetKind(),
	}
}
