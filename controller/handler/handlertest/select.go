package handlertest

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
)

// Selects tells whether a handler that is declared so selects the object: by
// Spec's Labels, Annotations and Namespaces, and by handler.When.
func Selects[T client.Object](t testing.TB, spec handler.Spec, object T, registered ...handler.RegisterOption[T]) bool {
	t.Helper()
	never := func(context.Context, *handler.Request[T]) (handler.Result, error) { return handler.Result{}, nil }
	h, set := compile(t, nil, object, func(r handler.Registry) { handler.Register(r, spec, never, registered...) })
	u := plain(t, object)
	complete(u, h, set.Kind)
	selected, err := h.Selects(u)
	if err != nil {
		t.Fatalf("handlertest: %v", err)
	}
	return selected
}

// Defaults admits the object by a function for defaults, and returns it as it
// would be stored. Of the object itself nothing is changed. An error, which
// may be a panic's, comes with the object as it was: defaults refuse nothing.
func Defaults[T client.Object](t testing.TB, spec handler.Spec, fn func(T, handler.Admission) error, object T, admission handler.Admission) (result T, err error) {
	t.Helper()
	h, set := compile(t, nil, object, func(r handler.Registry) { handler.Defaults(r, spec, fn) })
	u := plain(t, object)
	u.SetGroupVersionKind(set.Kind)
	if admission.Operation == 0 {
		admission.Operation = handler.Create
	}
	result = patched[T](t, u, nil)
	if h.Spec.On&admission.Operation == 0 {
		t.Fatalf("handlertest: the operation is %s, but defaults %q are declared for %s", admission.Operation, h.Spec.ID, h.Spec.On)
	}
	selected, err := h.Selects(u)
	if err != nil || !selected {
		return result, err
	}
	defer func() {
		if p := handler.RecoverPanic(recover()); p != nil {
			err = fmt.Errorf("defaults %q: %w", h.Spec.ID, p)
		}
	}()
	filled, err := h.Registration.Defaults(u, admission)
	if err != nil {
		return result, err
	}
	return patched[T](t, filled, nil), nil
}
