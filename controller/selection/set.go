// Package selection compiles registered handlers, and says for an object which
// of them select it and what they see of it. Admission and the controller
// share it, so that they decide on the same input.
package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// Set is what is registered for one kind.
type Set struct {
	Kind     schema.GroupVersionKind
	Handlers []*Handler // in declared order
	Defaults []*Handler // functions for defaults, in declared order
	Rules    storage.Rules
}

// Handler is a compiled registration.
type Handler struct {
	handler.Registration
	fields []storage.Path
	labels labels.Selector
	base   plan.Handler
}

// Compile checks registrations and groups them by kind, in the order of each
// kind's first. ignore lists further annotations that are no part of an
// essence. The error joins all that is wrong.
func Compile(registrations []handler.Registration, scheme *runtime.Scheme, ignore []string) ([]*Set, error) {
	var (
		sets []*Set
		errs []error
		ids  = map[string]bool{}
	)
	for _, registration := range registrations {
		h, kind, err := compile(registration, scheme)
		if err == nil && ids[h.Spec.ID] {
			err = fmt.Errorf("handler %q: another one has the same ID: what they finish is recorded under it, so each needs its own", h.Spec.ID)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ids[h.Spec.ID] = true
		if i := slices.IndexFunc(sets, func(s *Set) bool { return s.Kind.GroupKind() == kind.GroupKind() && s.Kind != kind }); i >= 0 {
			errs = append(errs, fmt.Errorf("handler %q: %s is also handled in version %s: both are the same objects, so use one version",
				h.Spec.ID, kind.GroupKind(), sets[i].Kind.Version))
			continue
		}
		i := slices.IndexFunc(sets, func(s *Set) bool { return s.Kind == kind })
		if i < 0 {
			i = len(sets)
			sets = append(sets, &Set{Kind: kind, Rules: storage.Rules{Ignore: ignore}})
		}
		sets[i].add(h)
	}
	return sets, errors.Join(errs...)
}

// Shared lists pairs of handlers that write to the same place of .status: the
// last one to run replaces what the other has written there.
func (s *Set) Shared() (pairs [][2]string) {
	for i, h := range s.Handlers {
		for _, other := range s.Handlers[:i] {
			if h.shares(other) {
				pairs = append(pairs, [2]string{other.Spec.ID, h.Spec.ID})
			}
		}
	}
	return pairs
}

// shares tells whether two handlers write to the same place of .status.
func (h *Handler) shares(other *Handler) bool {
	if c := h.Spec.Status.Condition; c != "" && c == other.Spec.Status.Condition {
		return true
	}
	if h.Spec.Status.Target == handler.Annotation || other.Spec.Status.Target == handler.Annotation {
		return false
	}
	a, b := h.StatusPath(), other.StatusPath()
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

func (s *Set) add(h *Handler) {
	if h.Registration.Defaults != nil {
		s.Defaults = append(s.Defaults, h)
		return
	}
	s.Handlers = append(s.Handlers, h)
	s.Rules.OwnStatus = append(s.Rules.OwnStatus, h.StatusPath())
	if c := h.Spec.Status.Condition; c != "" {
		s.Rules.OwnConditions = append(s.Rules.OwnConditions, c)
	}
}

func compile(r handler.Registration, scheme *runtime.Scheme) (*Handler, schema.GroupVersionKind, error) {
	r.Spec = r.Spec.WithDefaults()
	if err := r.Spec.Validate(); err != nil {
		return nil, schema.GroupVersionKind{}, err
	}
	if r.Run == nil && r.Defaults == nil {
		return nil, schema.GroupVersionKind{}, fmt.Errorf("handler %q: the function is nil", r.Spec.ID)
	}
	if r.Defaults != nil && r.Spec.On&^(handler.Create|handler.Update) != 0 {
		return nil, schema.GroupVersionKind{}, fmt.Errorf("defaults %q: On is %s: want Create, or Create|Update", r.Spec.ID, r.Spec.On)
	}
	kind, err := kindOf(r, scheme)
	if err != nil {
		return nil, kind, err
	}
	h := &Handler{Registration: r}
	if h.labels, err = labels.Parse(r.Spec.Labels); err != nil {
		return nil, kind, fmt.Errorf("handler %q: Labels: %w", r.Spec.ID, err)
	}
	for _, text := range r.Spec.Fields {
		path, err := storage.ParsePath(text)
		if err != nil {
			return nil, kind, fmt.Errorf("handler %q: Fields: %w", r.Spec.ID, err)
		}
		h.fields = append(h.fields, path)
	}
	h.base = plan.Handler{
		ID: r.Spec.ID, On: plan.On(r.Spec.On), Revision: r.Spec.Revision, Diff: r.Spec.Diff,
		Retry: plan.Retry(r.Spec.Retry),
	}
	return h, kind, nil
}

func kindOf(r handler.Registration, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	if r.Object == nil {
		return schema.GroupVersionKind{}, fmt.Errorf("handler %q: its type is no pointer to an object", r.Spec.ID)
	}
	kind, err := apiutil.GVKForObject(r.Object, scheme)
	if r.Spec.Kind.Kind != "" {
		if err == nil && kind.Kind != "" && kind != r.Spec.Kind {
			return kind, fmt.Errorf("handler %q: Kind is %s, but its type is %s", r.Spec.ID, r.Spec.Kind, kind)
		}
		return r.Spec.Kind, nil
	}
	if err != nil || kind.Kind == "" {
		return kind, fmt.Errorf("handler %q: the kind of %T is not known: add its type to Options.Scheme, or set Spec.Kind", r.Spec.ID, r.Object)
	}
	return kind, nil
}

// StatusPath is where the handler's payloads go below .status.
func (h *Handler) StatusPath() []string {
	if h.Spec.Status.Path == "" {
		return []string{h.Spec.ID}
	}
	return strings.Split(h.Spec.Status.Path, ".")
}

// Labels is the selector that all handlers of the set share, to be pushed down
// to the API server; nil where they differ or select all.
func (s *Set) Labels() labels.Selector {
	var shared labels.Selector
	for _, h := range slices.Concat(s.Handlers, s.Defaults) {
		if h.labels.Empty() || (shared != nil && shared.String() != h.labels.String()) {
			return nil
		}
		shared = h.labels
	}
	return shared
}

// Namespaces lists the only namespaces that any handler looks at; nil: all.
func (s *Set) Namespaces() []string {
	var all []string
	for _, h := range slices.Concat(s.Handlers, s.Defaults) {
		if len(h.Spec.Namespaces) == 0 {
			return nil
		}
		all = append(all, h.Spec.Namespaces...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Selects tells whether the filters of the handler match the object.
func (h *Handler) Selects(u *unstructured.Unstructured) (selected bool, err error) {
	if len(h.Spec.Namespaces) > 0 && !slices.Contains(h.Spec.Namespaces, u.GetNamespace()) {
		return false, nil
	}
	if namespace := u.GetNamespace(); h.InNamespace != nil && namespace != "" {
		if in, err := h.InNamespace(namespace); err != nil || !in {
			return false, err
		}
	}
	if !h.labels.Empty() && !h.labels.Matches(labels.Set(u.GetLabels())) {
		return false, nil
	}
	if len(h.Spec.Annotations) > 0 {
		annotations := u.GetAnnotations()
		for key, match := range h.Spec.Annotations {
			if value, ok := annotations[key]; !match.Matches(value, ok) {
				return false, nil
			}
		}
	}
	return h.predicate(u)
}

// predicate calls the author's own. An object that does not decode counts as
// selected: the handler's run then says so where people look.
func (h *Handler) predicate(u *unstructured.Unstructured) (selected bool, err error) {
	if h.Registration.Selects == nil {
		return true, nil
	}
	defer func() {
		if p := handler.RecoverPanic(recover()); p != nil {
			selected, err = false, fmt.Errorf("predicate of handler %q: %w", h.Spec.ID, p)
		}
	}()
	selected, err = h.Registration.Selects(u)
	if err != nil && handler.IsPermanent(err) {
		return true, nil
	}
	return selected, err
}
