package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Served is a resource that the API server serves, in one of its versions.
type Served struct {
	Resource   schema.GroupVersionResource
	Kind       string
	Singular   string
	ShortNames []string
	Namespaced bool
	Verbs      []string
	// Status tells that it has a status subresource.
	Status bool
}

// Catalog is what the API server serves.
type Catalog struct {
	All []Served
	// Silent are groups that could not be asked, as the server behind them does
	// not answer, with the reason.
	Silent map[string]string
}

// ReadCatalog asks for all resources, each in the version that its group
// prefers, or the first that has it.
func ReadCatalog(ctx context.Context, client *discovery.DiscoveryClient) (*Catalog, error) {
	groups, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return nil, fmt.Errorf("ask the API server for its resources: %w", err)
	}
	c := &Catalog{Silent: map[string]string{}}
	for gv, err := range failed {
		c.Silent[gv.Group] = Reason(err)
	}
	byVersion := map[string]*metav1.APIResourceList{}
	for _, list := range lists {
		byVersion[list.GroupVersion] = list
	}
	for _, group := range groups {
		versions := append([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions...)
		for _, version := range versions {
			if list := byVersion[version.GroupVersion]; list != nil {
				c.add(schema.GroupVersion{Group: group.Name, Version: version.Version}, list.APIResources)
			}
		}
	}
	slices.SortFunc(c.All, func(a, b Served) int { return strings.Compare(a.String(), b.String()) })
	return c, nil
}

func (c *Catalog) add(gv schema.GroupVersion, resources []metav1.APIResource) {
	for i := range resources {
		api := &resources[i]
		gvr := gv.WithResource(api.Name)
		if strings.Contains(api.Name, "/") || c.Find(gvr.GroupResource()) != nil {
			continue
		}
		c.All = append(c.All, Served{
			Resource: gvr, Kind: api.Kind, Singular: api.SingularName, ShortNames: api.ShortNames, Namespaced: api.Namespaced, Verbs: api.Verbs,
			Status: slices.ContainsFunc(resources, func(r metav1.APIResource) bool { return r.Name == api.Name+"/status" }),
		})
	}
}

// Find returns a resource; nil: it is not served.
func (c *Catalog) Find(name schema.GroupResource) *Served {
	for i := range c.All {
		if c.All[i].Resource.GroupResource() == name {
			return &c.All[i]
		}
	}
	return nil
}

// FindKind returns the resource of a kind; nil: it is not served.
func (c *Catalog) FindKind(kind schema.GroupKind) *Served {
	for i := range c.All {
		if s := &c.All[i]; s.Resource.Group == kind.Group && s.Kind == kind.Kind && s.Can("list") {
			return s
		}
	}
	return nil
}

// String is the resource as in certificates.cert-manager.io.
func (s *Served) String() string { return s.Resource.GroupResource().String() }

// Can tells whether the resource has a verb.
func (s *Served) Can(verb string) bool { return slices.Contains(s.Verbs, verb) }

// Writable tells whether objects of the resource can be listed and patched.
// Those of a CRD that is being deleted can be patched, although discovery says
// otherwise.
func (s *Served) Writable() bool {
	return s.Can("list") && (s.Can("patch") || s.Can("delete") && !s.Can("create"))
}
