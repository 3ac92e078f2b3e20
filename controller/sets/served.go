package sets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
)

// resource is one that the API server serves.
type resource struct {
	name        schema.GroupVersionResource
	kind        schema.GroupVersionKind
	namespaced  bool
	subresource bool // status has an endpoint of its own
}

// missingError says that a resource is not served.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

func isMissing(err error) bool {
	_, ok := err.(*missingError) //nolint:errorlint // it is never wrapped
	return ok
}

// served tells what the API server serves, and asks it again after a while: for
// each group and version once, however many sets name it. One whose server
// hangs, as aggregated APIs may, holds up no set of another. It is used by one
// goroutine.
type served struct {
	discovery discoverer
	clock     clock.PassiveClock
	// changed is called when an answer has come that was not waited for.
	changed func()
	lists   map[schema.GroupVersion]*question[[]metav1.APIResource]
	groups  *question[*metav1.APIGroupList]
}

// discoverer is what of discovery is needed.
type discoverer interface {
	discovery.ServerGroupsInterfaceWithContext
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

const (
	// servedTTL is how long it counts that something is served, or cannot be
	// asked, and missingTTL that it is not served.
	servedTTL  = 10 * time.Second
	missingTTL = 4 * time.Second
)

// find looks a resource up. With an error that says that it is missing, it
// returns the resource in another version, if it is served in one.
func (s *served) find(ctx context.Context, name schema.GroupVersionResource) (*resource, error) {
	list, err := s.list(ctx, name.GroupVersion(), name.Resource)
	switch {
	case apierrors.IsNotFound(err):
		return s.elsewhere(ctx, name)
	case err != nil:
		return nil, fmt.Errorf("ask the API server for %s: %w", name.GroupVersion(), err)
	}
	r, err := resourceOf(name, list)
	if r == nil && err == nil {
		return s.elsewhere(ctx, name)
	}
	return r, err
}

// resourceOf finds a resource in a list; nil: it is not there.
func resourceOf(name schema.GroupVersionResource, list []metav1.APIResource) (*resource, error) {
	r := &resource{name: name}
	found := false
	for i := range list {
		switch api := &list[i]; api.Name {
		case name.Resource:
			found = true
			r.kind, r.namespaced = name.GroupVersion().WithKind(api.Kind), api.Namespaced
			// While a CRD is being deleted, its objects can still be patched
			// although discovery says otherwise: their Delete handlers run.
			ending := slices.Contains(api.Verbs, "delete") && !slices.Contains(api.Verbs, "create")
			for _, verb := range []string{"get", "list", "watch", "patch"} {
				if !slices.Contains(api.Verbs, verb) && !(verb == "patch" && ending) {
					return nil, &missingError{fmt.Sprintf("%s has no verb %s, so its objects cannot be handled", name.GroupResource(), verb)}
				}
			}
		case name.Resource + "/status":
			r.subresource = true
		}
	}
	if !found {
		return nil, nil
	}
	return r, nil
}

// list returns the resources of a group and version. While the API server does
// not answer, what it has said last counts.
func (s *served) list(ctx context.Context, gv schema.GroupVersion, wanted string) ([]metav1.APIResource, error) {
	q := s.lists[gv]
	if q == nil {
		var known []metav1.APIResource
		q = &question[[]metav1.APIResource]{clock: s.clock, late: s.changed, ask: func(ctx context.Context) ([]metav1.APIResource, error) {
			list, err := s.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
			switch {
			case err == nil:
				known = list.APIResources
			case len(known) == 0 || apierrors.IsNotFound(err):
				known = nil
				return nil, err
			}
			return known, nil
		}}
		if s.lists == nil {
			s.lists = map[schema.GroupVersion]*question[[]metav1.APIResource]{}
		}
		s.lists[gv] = q
	}
	a := q.get(ctx, func(a answer[[]metav1.APIResource], age time.Duration) bool {
		there := slices.ContainsFunc(a.value, func(r metav1.APIResource) bool { return r.Name == wanted })
		failed := a.err != nil && !apierrors.IsNotFound(a.err)
		return (there || failed) && age < servedTTL || age < missingTTL
	})
	return a.value, a.err
}

// versions returns the versions in which a group is served.
func (s *served) versions(ctx context.Context, group string) (versions []string, err error) {
	if s.groups == nil {
		s.groups = &question[*metav1.APIGroupList]{clock: s.clock, late: s.changed, ask: s.discovery.ServerGroupsWithContext}
	}
	a := s.groups.get(ctx, func(a answer[*metav1.APIGroupList], age time.Duration) bool {
		return age < missingTTL || a.err != nil && age < servedTTL
	})
	if a.err != nil {
		return nil, fmt.Errorf("ask the API server for its groups: %w", a.err)
	}
	for i := range a.value.Groups {
		if a.value.Groups[i].Name == group {
			for _, version := range a.value.Groups[i].Versions {
				versions = append(versions, version.Version)
			}
		}
	}
	return versions, nil
}

// elsewhere says what is awaited, and finds the resource in another version.
func (s *served) elsewhere(ctx context.Context, name schema.GroupVersionResource) (*resource, error) {
	missing := &missingError{fmt.Sprintf("the API server does not serve %s in version %s: is its CRD installed? The set comes into force when it is",
		name.GroupResource(), name.Version)}
	versions, err := s.versions(ctx, name.Group)
	if err != nil {
		return nil, err
	}
	var (
		found   *resource
		others  []string
		unknown error // it may be there
	)
	for _, version := range versions {
		other := schema.GroupVersionResource{Group: name.Group, Version: version, Resource: name.Resource}
		if other == name {
			continue
		}
		list, err := s.list(ctx, other.GroupVersion(), name.Resource)
		if err != nil && !apierrors.IsNotFound(err) {
			unknown = fmt.Errorf("ask the API server for %s: %w", other.GroupVersion(), err)
		}
		if r, err := resourceOf(other, list); err == nil && r != nil {
			others = append(others, version)
			if found == nil {
				found = r
			}
		}
	}
	switch {
	case found == nil && unknown != nil:
		return nil, unknown
	case found != nil:
		missing.text = fmt.Sprintf("the API server does not serve %s in version %s, but in %s: change spec.resource.version",
			name.GroupResource(), name.Version, strings.Join(others, ", "))
	}
	return found, missing
}
