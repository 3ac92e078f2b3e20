package handler

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Admission is what a function for defaults is told of the request.
type Admission struct {
	// Operation is Create or Update.
	Operation Cause
	// User is the name of the user who makes the request.
	User string
	// UserUID, Groups and Extra are what else the API server knows of the user.
	// They must not be changed.
	UserUID string
	Groups  []string
	Extra   map[string][]string
	// DryRun tells that nothing will be stored.
	DryRun bool
}

// Defaults declares a function that sets defaults on objects of type T when
// they are admitted. Only what it sets where the object has nothing counts:
// maps merge, lists and scalars are taken whole, and what the user wrote stays,
// also if it is "", 0 or false. Of metadata only labels and annotations can be
// set, and nothing in status. spec needs an ID, a Kind where T names none, and
// On: Create, or Create|Update (immutable fields can only be set by Create);
// Labels, Annotations and Namespaces narrow it.
//
// fn runs in the webhook, so it must answer at once and depend on its input
// alone: no clock, no chance, no client. An error or panic refuses nothing: it
// is logged and counted, and the object is admitted without these defaults.
func Defaults[T client.Object](r Registry, spec Spec, fn func(T, Admission) error) {
	registration := Registration{Spec: spec, Object: newObject[T]()}
	if fn != nil {
		registration.Defaults = func(u *unstructured.Unstructured, a Admission) (*unstructured.Unstructured, error) {
			return withDefaults(u, func(object T) error { return fn(object, a) })
		}
	}
	r.Add(registration)
}

func withDefaults[T client.Object](u *unstructured.Unstructured, fn func(T) error) (*unstructured.Unstructured, error) {
	object, err := convert[T](u)
	if err != nil {
		return nil, err
	}
	before, err := plainObject(object)
	if err != nil {
		return nil, err
	}
	if err := fn(object); err != nil {
		return nil, err
	}
	after, err := plainObject(object)
	if err != nil {
		return nil, err
	}
	filled := u.DeepCopy()
	fill(filled.Object, before, settable(after), false)
	return filled, nil
}

// plainObject goes by JSON, which leaves out what omitzero tells it to.
func plainObject(object client.Object) (map[string]any, error) {
	var value any = object
	if u, ok := value.(*unstructured.Unstructured); ok {
		value = u.Object
	}
	plain, err := plainValue(value)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", object, err)
	}
	m, _ := plain.(map[string]any)
	return m, nil
}

// settable is what of an object a default may be set on.
func settable(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key := range annotations {
		if isDogears(key) {
			delete(annotations, key)
		}
	}
	for key := range metadata {
		if key != "labels" && (key != "annotations" || len(annotations) == 0) {
			delete(metadata, key)
		}
	}
	for _, key := range []string{"apiVersion", "kind", "status"} {
		delete(object, key)
	}
	return object
}

// isDogears tells whether an annotation is state of this or another operator.
func isDogears(annotation string) bool {
	prefix, _, ok := strings.Cut(annotation, "/")
	return ok && strings.HasPrefix(prefix, "dogear.")
}
