package handlertest

import (
	"encoding/json"
	"reflect"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

type compiled = selection.Handler

// registry takes one registration.
type registry struct{ all []handler.Registration }

func (r *registry) Add(registration handler.Registration) { r.all = append(r.all, registration) }

// compile checks a declaration as the operator does when it starts.
func compile(t testing.TB, scheme *runtime.Scheme, object client.Object, register func(handler.Registry)) (*compiled, *selection.Set) {
	t.Helper()
	if object == nil || reflect.ValueOf(object).Kind() != reflect.Pointer || reflect.ValueOf(object).IsNil() {
		t.Fatalf("handlertest: the object is %T(nil)", object)
	}
	var r registry
	register(&r)
	sets, err := selection.Compile(r.all, schemeOf(scheme, object), nil)
	if err != nil {
		t.Fatalf("handlertest: %v", err)
	}
	set := sets[0]
	if len(set.Handlers) > 0 {
		return set.Handlers[0], set
	}
	return set.Defaults[0], set
}

// schemeOf is a scheme that knows the object's type: nothing depends on the
// kind that an operator would have to look up.
func schemeOf(scheme *runtime.Scheme, object client.Object) *runtime.Scheme {
	if _, ok := object.(runtime.Unstructured); ok {
		return runtime.NewScheme()
	}
	kind := object.GetObjectKind().GroupVersionKind()
	for _, s := range []*runtime.Scheme{scheme, clientscheme.Scheme} {
		if s == nil || kind.Version != "" {
			continue
		}
		if known, err := apiutil.GVKForObject(object, s); err == nil {
			kind = known
		}
	}
	if kind.Version == "" || kind.Kind == "" {
		kind = schema.GroupVersionKind{Group: "test", Version: "v1", Kind: reflect.TypeOf(object).Elem().Name()}
	}
	own := runtime.NewScheme()
	own.AddKnownTypeWithName(kind, reflect.New(reflect.TypeOf(object).Elem()).Interface().(runtime.Object))
	return own
}

// plain is a copy of the object as the API server sends it. What a Go type
// writes though it was not set, such as "" for a required text, counts as absent.
func plain(t testing.TB, object client.Object) *unstructured.Unstructured {
	t.Helper()
	if u, ok := object.(*unstructured.Unstructured); ok {
		return &unstructured.Unstructured{Object: decode(t, encode(t, u.Object))}
	}
	m := decode(t, encode(t, object))
	prune(m, decode(t, encode(t, reflect.New(reflect.TypeOf(object).Elem()).Interface())))
	return &unstructured.Unstructured{Object: m}
}

// prune takes from m what zero has as well.
func prune(m, zero map[string]any) {
	for key, unset := range zero {
		child, ok := m[key].(map[string]any)
		if deeper, ok2 := unset.(map[string]any); ok && ok2 {
			if prune(child, deeper); len(child) == 0 {
				delete(m, key)
			}
		} else if reflect.DeepEqual(m[key], unset) {
			delete(m, key)
		}
	}
}

// patched is the object after a JSON merge patch.
func patched[T client.Object](t testing.TB, u *unstructured.Unstructured, merge map[string]any) T {
	t.Helper()
	text := encode(t, u.Object)
	if merge != nil {
		var err error
		if text, err = jsonpatch.MergePatch(text, encode(t, merge)); err != nil {
			t.Fatalf("handlertest: apply the patch: %v", err)
		}
	}
	object := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if u, ok := any(object).(*unstructured.Unstructured); ok {
		u.Object = decode(t, text)
	} else if err := json.Unmarshal(text, object); err != nil {
		t.Fatalf("handlertest: with the handler's patch, the object does not decode as %T: %v", object, err)
	}
	return object
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("handlertest: encode %T: %v", v, err)
	}
	return text
}

func decode(t testing.TB, text []byte) map[string]any {
	t.Helper()
	v, err := storage.DecodeValue(text)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		t.Fatalf("handlertest: decode an object: %v", err)
	}
	return m
}
