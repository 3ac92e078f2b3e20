package sets

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// Right is one to do something with a resource.
type Right struct {
	Group, Resource, Subresource string
	Name, Namespace              string // empty: any, all
	Verb                         string
}

// String is the right in words, for lists of those that are missing.
func (n Right) String() string {
	text := n.Verb + " " + n.What()
	if n.Name != "" {
		text += " " + n.Name
	}
	if n.Namespace != "" {
		text += " in namespace " + n.Namespace
	}
	return text
}

// What is the resource as people call it: things.example.com/status.
func (n Right) What() string {
	text := n.Resource
	if n.Group != "" {
		text += "." + n.Group
	}
	if n.Subresource != "" {
		text += "/" + n.Subresource
	}
	return text
}

// To are rights for the same with several verbs.
func (n Right) To(verbs ...string) (all []Right) {
	for _, verb := range verbs {
		n.Verb = verb
		all = append(all, n)
	}
	return all
}

// Attributes are the right in the words of a review.
func (n Right) Attributes() *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{
		Namespace: n.Namespace, Verb: n.Verb, Group: n.Group, Resource: n.Resource, Subresource: n.Subresource, Name: n.Name,
	}
}

// Keeps tells whether the schema of a kind has room for payloads at a place
// below .status.
type Keeps func(ctx context.Context, kind schema.GroupVersionKind, path ...string) (bool, error)

// Target is the resource of a set, as the API server serves it.
type Target struct {
	Resource schema.GroupResource
	Kind     schema.GroupVersionKind
	// Status tells that status has an endpoint of its own.
	Status bool
}

// ObjectRights are those that the handlers of a set need, or their removal, on
// objects of its resource.
func ObjectRights(ctx context.Context, set v1alpha1.AnySet, on Target, keeps Keeps) []Right {
	n := Right{Group: on.Resource.Group, Resource: on.Resource.Resource, Namespace: set.GetNamespace()}
	all := n.To(objectVerbs...)
	if set.GetDeletionTimestamp() == nil && on.Status && writesStatus(ctx, set, on.Kind, keeps) {
		n.Subresource = "status"
		all = append(all, n.To(statusVerbs...)...)
	}
	return all
}

// writesStatus tells whether payloads or conditions of a set may go to .status:
// the schema decides, where it is known.
func writesStatus(ctx context.Context, set v1alpha1.AnySet, kind schema.GroupVersionKind, keeps Keeps) bool {
	handlers := set.Declared().Handlers
	for i := range handlers {
		h := &handlers[i]
		if h.ConditionType() != "" {
			return true
		}
		if h.Status.Place() == v1alpha1.TargetAnnotation {
			continue
		}
		if kept, err := keeps(ctx, kind, strings.Split(h.StatusPath(), ".")...); err != nil || kept {
			return true
		}
	}
	return false
}

// EndpointRights are those to read the Services and Secrets that calls of a set
// need, each once.
func EndpointRights(set v1alpha1.AnySet) (all []Right) {
	if set.GetDeletionTimestamp() != nil {
		return nil // nothing is called any more
	}
	add := func(resource, namespace, name string) {
		n := Right{Resource: resource, Namespace: namespace, Name: name, Verb: "get"}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	handlers := set.Declared().Handlers
	for i := range handlers {
		h := &handlers[i].HTTP
		if h.Service != nil {
			add("services", h.ServiceNamespace(set), h.Service.Name)
		}
		for _, ref := range []*v1alpha1.SecretReference{h.SecretRef, h.CASecretRef, h.ClientCertificateSecretRef} {
			if ref != nil {
				add("secrets", h.SecretNamespace(set, ref), ref.Name)
			}
		}
	}
	return all
}
