package sets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
)

// version identifies what a registration does.
type version struct {
	uid        string
	generation int64
	resource   resource
	held       bool
}

// registrations says in the engine's words what a set declares.
func (s *Service) registrations(v *verdict) ([]handler.Registration, error) {
	match, err := s.match(v.set)
	if err != nil {
		return nil, err
	}
	var out []handler.Registration
	spec := v.set.Declared()
	if spec.Defaults != nil && v.defaults {
		r, err := s.defaults(v, match)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	for i := range spec.Handlers {
		h := &spec.Handlers[i]
		if !known(v.set, h.ID) {
			continue // its status comes first
		}
		r, err := s.registration(v, h, match)
		if err != nil {
			return nil, fmt.Errorf("handler %q: %w", h.ID, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func (v *verdict) version(held bool) version {
	return version{string(v.set.GetUID()), v.set.GetGeneration(), *v.resource, held}
}

func (s *Service) registration(v *verdict, h *v1alpha1.Handler, match *match) (handler.Registration, error) {
	spec := match.spec
	spec.ID, spec.Kind = v1alpha1.HandlerID(v.set, h.ID), v.resource.kind
	for _, cause := range h.Causes {
		spec.On |= causes[cause]
	}
	spec.Fields, spec.Revision, spec.Claim, spec.Diff = h.Fields, h.Revision, h.Claim, h.Diff
	if v.set.Declared().Existing == v1alpha1.ExistingAdopt {
		spec.Existing = handler.AdoptExisting
	}
	spec.Retry.Limit, spec.Retry.Timeout = h.Retry.Bounds()
	spec.Retry.Initial, spec.Retry.Factor, spec.Retry.Max = h.Retry.Delays()
	spec.Timeout = -1 // a call has time-outs of its own
	spec.Concurrency = min(h.HTTP.InFlight(), s.share(v.set))
	spec.Status = handler.StatusTarget{Path: h.StatusPath(), Condition: h.ConditionType()}
	if h.Status.Place() == v1alpha1.TargetAnnotation {
		spec.Status.Target = handler.Annotation
	}
	r := match.registration(spec)
	r.Version = v.version(false)
	if !s.controls() {
		r.Run = func(context.Context, *handler.RawRequest) (handler.Result, error) {
			return handler.Result{}, errors.New("this process handles no objects")
		}
		return r, nil
	}
	endpoint, err := s.endpoints.of(v, h)
	if err != nil {
		return r, err
	}
	r.Run, r.Gate = endpoint.Run, endpoint.Gate()
	if v.set.Declared().Paused {
		r.Gate = shut
	}
	return r, nil
}

// share is how many workers of its resource a handler may hold: one whose
// endpoint is slow must leave enough to others, a tenant's even more.
func (s *Service) share(set v1alpha1.AnySet) int {
	if set.GetNamespace() == "" {
		return max(1, s.settings.Workers/4)
	}
	return max(1, s.settings.Workers/8)
}

var causes = map[v1alpha1.Cause]handler.Cause{
	v1alpha1.CauseCreate: handler.Create, v1alpha1.CauseUpdate: handler.Update,
	v1alpha1.CauseDelete: handler.Delete, v1alpha1.CauseResume: handler.Resume,
}

// shut is the gate of handlers that must not run now.
var shut handler.Gate = &shutGate{}

type shutGate struct{ _ byte }

// Capacity implements handler.Gate.
func (*shutGate) Capacity() int { return 0 }

// OnChange implements handler.Gate.
func (*shutGate) OnChange(func()) (cancel func()) { return func() {} }

// placeholders stand for the handlers of a set that cannot be used at present:
// they hold what the handlers hold, and never run. No more is watched and sent
// to admission for them than for the handlers, as far as that is known.
func (s *Service) placeholders(v *verdict) (out []handler.Registration) {
	if v.resource == nil {
		return nil
	}
	selector, err := labelsOf(v.set.Declared())
	if err != nil {
		selector = labels.Everything() // the set is refused for it already
	}
	for _, status := range v.set.Observed().Handlers {
		if slices.Contains(v.removing, status.ID) {
			continue
		}
		id := v1alpha1.HandlerID(v.set, status.ID)
		spec := handler.Spec{ID: id, Kind: v.resource.kind, Timeout: -1, Labels: selector.String(), Status: handler.StatusTarget{Target: handler.Annotation}}
		if namespace := v.set.GetNamespace(); namespace != "" {
			spec.Namespaces = []string{namespace}
		}
		if h := handlerOf(v.set, status.ID); h != nil {
			for _, cause := range h.Causes {
				spec.On |= causes[cause] &^ handler.Resume
			}
		}
		if spec.On == 0 {
			spec.On = handler.Create
		}
		out = append(out, handler.Registration{
			Spec: spec, Object: &unstructured.Unstructured{}, Version: v.version(true), Gate: shut,
			Run: func(context.Context, *handler.RawRequest) (handler.Result, error) {
				return handler.Result{}, errors.New("the set cannot be used at present")
			},
			Selects: func(u *unstructured.Unstructured) (bool, error) {
				marker, err := storage.ServicePrefix.Read(u.GetAnnotations())
				held := spec.On&handler.Delete != 0 && slices.Contains(u.GetFinalizers(), storage.ServicePrefix.Finalizer())
				return held || err == nil && marker.Names(id), nil
			},
		})
	}
	return out
}

// match is the selection of a set in the engine's words.
type match struct {
	*Selection
	spec        handler.Spec
	inNamespace func(string) (bool, error)
}

func (s *Service) match(set v1alpha1.AnySet) (*match, error) {
	selection, err := SelectionOf(set)
	if err != nil {
		return nil, err
	}
	m := &match{Selection: selection, spec: handler.Spec{Labels: selection.Labels.String(), Annotations: selection.annotations}}
	if selection.Namespace != "" {
		m.spec.Namespaces = []string{selection.Namespace}
	}
	if selection.Namespaces != nil {
		m.inNamespace = func(name string) (bool, error) { return s.namespaceMatches(name, selection.Namespaces) }
	}
	return m, nil
}

// registration is one with what selects objects filled in.
func (m *match) registration(spec handler.Spec) handler.Registration {
	r := handler.Registration{Spec: spec, Object: &unstructured.Unstructured{}, InNamespace: m.inNamespace}
	if len(m.conditions) > 0 {
		r.Selects = func(u *unstructured.Unstructured) (bool, error) { return m.hold(u), nil }
	}
	return r
}

// namespaceMatches asks the cache. A namespace that is not there yet wakes its
// objects when it comes.
func (s *Service) namespaceMatches(name string, selector labels.Selector) (bool, error) {
	namespace := namespaceObject()
	err := s.cached.Get(context.Background(), client.ObjectKey{Name: name}, namespace)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && selector.Matches(labels.Set(namespace.Labels)), err
}
