package handler

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Registry takes registrations. An operator is one.
type Registry interface {
	// Add takes a registration. What is wrong with it is reported when the
	// operator starts.
	Add(Registration)
}

// Registration is a handler, or a function for defaults, without its type.
type Registration struct {
	Spec Spec
	// Version, where it is not nil, is equal (==) for registrations of one ID
	// that do the same, so that declaring it again disturbs nothing.
	Version any
	// Object is a new, empty object of the handler's type.
	Object client.Object
	// Run runs the handler; nil for defaults.
	Run func(context.Context, *RawRequest) (Result, error)
	// Selects is the predicate of the handler's author; nil: all.
	Selects func(*unstructured.Unstructured) (bool, error)
	// InNamespace tells whether the objects of a namespace count; nil: all.
	InNamespace func(namespace string) (bool, error)
	// Gate bounds the runs of all handlers that have the same one; nil: none.
	Gate Gate
	// Defaults returns the object with its defaults; nil for handlers.
	Defaults func(*unstructured.Unstructured, Admission) (*unstructured.Unstructured, error)
}

// RawRequest is a Request before the object has its type.
type RawRequest struct {
	Object  *unstructured.Unstructured
	Old     *unstructured.Unstructured // nil: not known
	Changes []Change
	Info
}

// Gate bounds how many runs of handlers go on at once that share something,
// such as an endpoint. Objects that find no place wait without holding a
// worker, and no attempt is used up. A pointer that stays the same identifies it.
type Gate interface {
	// Capacity is how many may run now; 0: none.
	Capacity() int
	// OnChange has f called, from anywhere, after each change of Capacity, until
	// cancel is called; a call that is under way then may still come.
	OnChange(f func()) (cancel func())
}

// RegisterOption adds to a registration what depends on the object's type.
type RegisterOption[T client.Object] func(*Registration)

// When makes a handler select only the objects for which the predicate holds.
// It is called at admission and in the controller, often, and must depend on
// the object alone, not on status, time or other objects.
func When[T client.Object](predicate func(T) bool) RegisterOption[T] {
	return func(r *Registration) {
		r.Selects = func(u *unstructured.Unstructured) (bool, error) {
			object, err := convert[T](u)
			if err != nil {
				return false, err
			}
			return predicate(object), nil
		}
	}
}

// Register declares a handler for the objects of type T: a type in the
// operator's scheme, *unstructured.Unstructured, or
// *metav1.PartialObjectMetadata for handlers that need no more; the last two
// with Spec.Kind. What is wrong with spec is reported when the operator starts.
func Register[T client.Object](r Registry, spec Spec, run func(context.Context, *Request[T]) (Result, error), options ...RegisterOption[T]) {
	registration := Registration{Spec: spec, Object: newObject[T]()}
	if run != nil {
		registration.Run = func(ctx context.Context, raw *RawRequest) (Result, error) {
			request, err := typed[T](raw)
			if err != nil {
				return Result{}, err
			}
			return run(ctx, request)
		}
	}
	for _, option := range options {
		option(&registration)
	}
	r.Add(registration)
}

func typed[T client.Object](raw *RawRequest) (*Request[T], error) {
	object, err := convert[T](raw.Object)
	if err != nil {
		return nil, err
	}
	request := &Request[T]{Object: object, Info: raw.Info}
	if raw.Old == nil {
		return request, nil
	}
	if old, err := convert[T](raw.Old); err == nil { // else of a type that is no more: as good as not known
		request.Old, request.Changes, request.Known = old, raw.Changes, true
	}
	return request, nil
}

func newObject[T client.Object]() T {
	var zero T
	kind := reflect.TypeFor[T]()
	if kind.Kind() != reflect.Pointer {
		return zero
	}
	return reflect.New(kind.Elem()).Interface().(T)
}

// convert makes a private copy of u in type T.
func convert[T client.Object](u *unstructured.Unstructured) (T, error) {
	object := newObject[T]()
	if same, ok := any(object).(*unstructured.Unstructured); ok {
		same.Object = u.DeepCopy().Object
		return object, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.DeepCopy().Object, object); err != nil {
		return object, Permanent(fmt.Sprintf("the object does not decode as %T", object), Reason(ReasonUndecodable), Because(err))
	}
	return object, nil
}
