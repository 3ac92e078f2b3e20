package service

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/storage"
)

// edit changes the spec of a set to what spec says, but for its resource and
// what selects namespaces.
func (b *bench) edit(s *v1alpha1.ClusterHandlerSet, spec string) {
	b.Helper()
	next := v1alpha1.HandlerSetSpec{}
	if err := yaml.UnmarshalStrict([]byte(spec), &next); err != nil {
		b.Fatal(err)
	}
	b.change(s, func() {
		resource, namespaces := s.Spec.Resource, s.Spec.Match.NamespaceSelector
		s.Spec = next
		s.Spec.Resource = resource
		if s.Spec.Match == nil {
			s.Spec.Match = &v1alpha1.Match{}
		}
		if s.Spec.Match.NamespaceSelector == nil {
			s.Spec.Match.NamespaceSelector = namespaces
		}
	})
}

// change updates an object as it is on the server.
func (b *bench) change(o client.Object, change func()) {
	b.Helper()
	b.eventually(func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		err := b.admin.Update(b.Context(), o)
		if err != nil && !apierrors.IsConflict(err) {
			b.Fatal(err)
		}
		return err
	})
}

func (b *bench) delete(o client.Object) {
	b.Helper()
	if err := b.admin.Delete(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// configMap creates one in the test's namespace.
func (b *bench) configMap(name string, labels map[string]string) *unstructured.Unstructured {
	b.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name, Labels: labels}, Data: map[string]string{"key": "value"}}
	if err := b.admin.Create(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	return b.unstructured(c)
}

func (b *bench) unstructured(o client.Object) *unstructured.Unstructured {
	b.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		b.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	gvk, err := b.admin.GroupVersionKindFor(o)
	if err != nil {
		b.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	return u
}

// marker reads what an object carries.
func (b *bench) marker(u *unstructured.Unstructured) storage.Marker {
	b.Helper()
	m, err := storage.ServicePrefix.Read(b.get(u).GetAnnotations())
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// awaitRecord waits until an object's record of a handler is as it should be.
func (b *bench) awaitRecord(u *unstructured.Unstructured, id string, is func(storage.Record) bool) (found storage.Record) {
	b.Helper()
	b.eventually(func() error {
		m := b.marker(u)
		r, ok := m.Record(id)
		if !ok || !is(r) {
			return fmt.Errorf("%s: record of %s: %+v (%v)", u.GetName(), id, r, ok)
		}
		found = r
		return nil
	})
	return found
}

// awaitCalls waits until an endpoint was called so often.
func (e *endpoint) awaitCalls(n int) []*v1alpha1.HandlerReviewRequest {
	e.Helper()
	e.eventually(func() error {
		if calls := e.calls(); len(calls) < n {
			return fmt.Errorf("%s: %d calls, want %d", e.name, len(calls), n)
		}
		return nil
	})
	return e.calls()
}

// callsOf counts the calls of a handler about an object.
func (e *endpoint) callsOf(id, object string) (n int) {
	for _, call := range e.calls() {
		if call.Handler.ID == id && nameOf(call) == object {
			n++
		}
	}
	return n
}

func objectOf(call *v1alpha1.HandlerReviewRequest) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(call.Object); err != nil {
		u.SetName(err.Error())
	}
	return u
}

func nameOf(call *v1alpha1.HandlerReviewRequest) string { return objectOf(call).GetName() }

func texts(calls []*v1alpha1.HandlerReviewRequest) (all []string) {
	for _, c := range calls {
		all = append(all, fmt.Sprintf("%s/%s %s %s %d", c.Handler.Set, c.Handler.ID, nameOf(c), c.Cause, c.Attempt))
	}
	return all
}

// awaitCounts waits until a set's status counts are as they should be.
func (b *bench) awaitCounts(s *v1alpha1.ClusterHandlerSet, is func(v1alpha1.Counts) bool) {
	b.Helper()
	b.eventually(func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		if !is(s.Status.Counts) {
			return fmt.Errorf("%s: counts %+v", s.Name, s.Status.Counts)
		}
		return nil
	})
}

// wantText fails the test where a text lacks one of the parts.
func wantText(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %q", part, text)
		}
	}
}

// ours are the annotations of Dogear on an object.
func (b *bench) ours(u *unstructured.Unstructured) map[string]string {
	annotations := maps.Clone(b.get(u).GetAnnotations())
	maps.DeleteFunc(annotations, func(key, _ string) bool { return !storage.ServicePrefix.Owns(key) })
	return annotations
}

func (b *bench) holds(u *unstructured.Unstructured) bool {
	return slices.Contains(b.get(u).GetFinalizers(), storage.ServicePrefix.Finalizer())
}
