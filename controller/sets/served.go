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

// served tells what the API server serves, and asks it again after a while.
// It is used by one goroutine.
type served struct {
	discovery discovery.DiscoveryInterface
	clock     clock.PassiveClock
	lists     map[schema.GroupVersion]servedList
}

type servedList struct {
	resources []metav1.APIResource
	err       error
	at        time.Time
}

const (
	// servedTTL is how long it counts that something is served, and
	// missingTTL that it is not.
	servedTTL  = 10 * time.Second
	missingTTL = 4 * time.Second
)

// find looks a resource up. With an error that says that it is missing, it
// returns the resource in another version, if it is served in one.
func (s *served) find(_ context.Context, name schema.GroupVersionResource) (*resource, error) {
	list := s.list(name.GroupVersion(), name.Resource)
	switch {
	case apierrors.IsNotFound(list.err):
		return s.elsewhere(name)
	case list.err != nil:
		return nil, fmt.Errorf("ask the API server for %s: %w", name.GroupVersion(), list.err)
	}
	r, err := resourceOf(name, list)
	if r == nil && err == nil {
		return s.elsewhere(name)
	}
	return r, err
}

// resourceOf finds a resource in a list; nil: it is not there.
func resourceOf(name schema.GroupVersionResource, list servedList) (*resource, error) {
	r := &resource{name: name}
	found := false
	for i := range list.resources {
		switch api := &list.resources[i]; api.Name {
		case name.Resource:
			found = true
			r.kind, r.namespaced = name.GroupVersion().WithKind(api.Kind), api.Namespaced
			for _, verb := range []string{"get", "list", "watch", "patch"} {
				if !slices.Contains(api.Verbs, verb) {
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

func (s *served) list(gv schema.GroupVersion, wanted string) servedList {
	if list, ok := s.lists[gv]; ok {
		there := slices.ContainsFunc(list.resources, func(r metav1.APIResource) bool { return r.Name == wanted })
		if age := s.clock.Since(list.at); there && age < servedTTL || age < missingTTL {
			return list
		}
	}
	list := servedList{at: s.clock.Now()}
	found, err := s.discovery.ServerResourcesForGroupVersion(gv.String())
	switch last := s.lists[gv]; {
	case err == nil:
		list.resources = found.APIResources
	case len(last.resources) > 0 && !apierrors.IsNotFound(err):
		list.resources = last.resources // the API server does not answer: what it has said last counts
	default:
		list.err = err
	}
	if s.lists == nil {
		s.lists = map[schema.GroupVersion]servedList{}
	}
	s.lists[gv] = list
	return list
}

// elsewhere says what is awaited, and finds the resource in another version.
func (s *served) elsewhere(name schema.GroupVersionResource) (*resource, error) {
	missing := &missingError{fmt.Sprintf("the API server does not serve %s in version %s: is its CRD installed? The set comes into force when it is",
		name.GroupResource(), name.Version)}
	groups, err := s.discovery.ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its groups: %w", err)
	}
	var (
		found  *resource
		others []string
	)
	for _, group := range groups.Groups {
		if group.Name != name.Group {
			continue
		}
		for _, version := range group.Versions {
			other := schema.GroupVersionResource{Group: name.Group, Version: version.Version, Resource: name.Resource}
			if r, err := resourceOf(other, s.list(other.GroupVersion(), name.Resource)); err == nil && r != nil && other != name {
				others = append(others, version.Version)
				if found == nil {
					found = r
				}
			}
		}
	}
	if found != nil {
		missing.text = fmt.Sprintf("the API server does not serve %s in version %s, but in %s: change spec.resource.version",
			name.GroupResource(), name.Version, strings.Join(others, ", "))
	}
	return found, missing
}
