package handler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Admission is what a function for defaults is told of the request.
type Admission struct {
	// Operation is Create or Update.
	Operation Cause
	// User is the name of the user who makes the request.
	User string
	// DryRun tells that nothing will be stored.
	DryRun bool
}

// Defaults declares a function that sets defaults on objects of type T when
// they are admitted. Only what it sets where the object has nothing counts:
// maps merge, lists and scalars are taken whole. spec needs an ID, a Kind
// where T names none, and On: Create, or Create|Update (immutable fields can
// only be set by Create); Labels and Namespaces narrow it.
//
// fn runs in the webhook, so it must answer at once and depend on its input
// alone: no clock, no chance, no client. An error refuses nothing: it is
// logged and counted, and the object is admitted without these defaults.
func Defaults[T client.Object](r Registry, spec Spec, fn func(T, Admission) error) {
	r.Add(Registration{Spec: spec, Object: newObject[T](), Defaults: func(u *unstructured.Unstructured, a Admission) (*unstructured.Unstructured, error) {
		object, err := convert[T](u)
		if err != nil {
			return nil, err
		}
		before, err := plainObject(object)
		if err != nil {
			return nil, err
		}
		if err := fn(object, a); err != nil {
			return nil, err
		}
		after, err := plainObject(object)
		if err != nil {
			return nil, err
		}
		filled := u.DeepCopy()
		fill(filled.Object, before, after)
		return filled, nil
	}})
}

func plainObject(object client.Object) (map[string]any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.DeepCopy().Object, nil
	}
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", object, err)
	}
	return plain, nil
}

// fill copies into target what is in after but neither in before nor target.
// before tells what the typed round trip alone makes up.
func fill(target, before, after map[string]any) {
	for key, value := range after {
		child, isMap := value.(map[string]any)
		if old, ok := before[key]; ok {
			deeper, ok := old.(map[string]any)
			if !isMap || !ok {
				continue
			}
			into, ok := target[key].(map[string]any)
			if !ok {
				into = map[string]any{}
			}
			if fill(into, deeper, child); len(into) > 0 {
				target[key] = into
			}
			continue
		}
		if have, ok := target[key]; !ok || have == nil {
			target[key] = value
		} else if into, ok := have.(map[string]any); ok && isMap {
			fill(into, nil, child)
		}
	}
}
