package check

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// resource is one that sets declare.
type resource struct {
	name schema.GroupVersionResource
	// kind and namespaced are known where the API server serves it.
	kind       schema.GroupVersionKind
	namespaced bool
	// subresource tells that status has an endpoint of its own.
	subresource bool
	// err is why the API server does not serve it; nil: it does.
	err error
	// sets are those that declare it.
	sets []v1alpha1.AnySet
}

// String is how people call it: certificates.cert-manager.io.
func (res *resource) String() string { return res.name.GroupResource().String() }

// active are its sets that are in force.
func (res *resource) active() (sets []v1alpha1.AnySet) {
	for _, set := range res.sets {
		if inForce(set) {
			sets = append(sets, set)
		}
	}
	return sets
}

// inForce tells that the controller has taken in a set as it is.
func inForce(set v1alpha1.AnySet) bool {
	return set.GetDeletionTimestamp() == nil && set.Observed().ObservedGeneration == set.GetGeneration() &&
		meta.IsStatusConditionTrue(set.Observed().Conditions, v1alpha1.ConditionReady)
}

// declared are the resources that sets declare, in order.
func (r *round) declared(ctx context.Context) ([]*resource, error) {
	return r.resources.get(func() (all []*resource, err error) {
		if r.options.Domain != "" {
			return r.ruled(ctx)
		}
		sets, err := r.sets(ctx)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(sets, func(a, b v1alpha1.AnySet) int { return -cmp.Compare(rank(a), rank(b)) })
		for _, set := range sets {
			name := set.Declared().Resource.GroupVersionResource()
			i := slices.IndexFunc(all, func(res *resource) bool { return res.name.GroupResource() == name.GroupResource() })
			if i < 0 {
				i = len(all)
				all = append(all, r.resource(ctx, name))
			}
			all[i].sets = append(all[i].sets, set)
		}
		slices.SortFunc(all, func(a, b *resource) int { return cmp.Compare(a.String(), b.String()) })
		return all, nil
	})
}

// rank puts first the sets whose version of the resource is sure to be served.
func rank(set v1alpha1.AnySet) int {
	if inForce(set) {
		return 1
	}
	return 0
}

// ruled are the resources that the webhook of an operator has rules for.
func (r *round) ruled(ctx context.Context) (all []*resource, err error) {
	configuration, err := r.mutatingConfiguration(ctx)
	if err != nil || configuration == nil {
		return nil, err
	}
	for _, name := range ruledIn(configuration) {
		all = append(all, r.resource(ctx, name))
	}
	return all, nil
}

// resource asks the API server for one.
func (r *round) resource(ctx context.Context, name schema.GroupVersionResource) *resource {
	res := &resource{name: name}
	var list *metav1.APIResourceList
	if list, res.err = r.discovery.ServerResourcesForGroupVersionWithContext(ctx, name.GroupVersion().String()); res.err != nil {
		return res
	}
	res.err = &meta.NoResourceMatchError{PartialResource: name}
	for i := range list.APIResources {
		switch api := &list.APIResources[i]; api.Name {
		case name.Resource:
			res.kind, res.namespaced, res.err = name.GroupVersion().WithKind(api.Kind), api.Namespaced, nil
		case name.Resource + "/status":
			res.subresource = true
		}
	}
	return res
}
