package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/dogear-dev/dogear/controller/installation"
)

// served is a resource that the API server serves, in one of its versions.
type served struct {
	gvr        schema.GroupVersionResource
	kind       string
	namespaced bool
	verbs      []string
}

// catalog is what the API server serves.
type catalog struct {
	all []served
	// silent are groups that could not be asked, as the server behind them does
	// not answer, with the reason.
	silent map[string]string
}

// readCatalog asks for all resources, each in the version that its group prefers,
// or the first that has it.
func readCatalog(ctx context.Context, client *discovery.DiscoveryClient) (*catalog, error) {
	groups, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return nil, fmt.Errorf("ask the API server for its resources: %w", err)
	}
	c := &catalog{silent: map[string]string{}}
	for gv, err := range failed {
		c.silent[gv.Group] = installation.Reason(err)
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
	slices.SortFunc(c.all, func(a, b served) int {
		return strings.Compare(a.gvr.GroupResource().String(), b.gvr.GroupResource().String())
	})
	return c, nil
}

func (c *catalog) add(gv schema.GroupVersion, resources []metav1.APIResource) {
	for i := range resources {
		api := &resources[i]
		if strings.Contains(api.Name, "/") || c.find(gv.WithResource(api.Name).GroupResource()) != nil {
			continue
		}
		c.all = append(c.all, served{gvr: gv.WithResource(api.Name), kind: api.Kind, namespaced: api.Namespaced, verbs: api.Verbs})
	}
}

// find returns a resource; nil: it is not served.
func (c *catalog) find(name schema.GroupResource) *served {
	for i := range c.all {
		if c.all[i].gvr.GroupResource() == name {
			return &c.all[i]
		}
	}
	return nil
}

// findKind returns the resource of a kind; nil: it is not served.
func (c *catalog) findKind(kind schema.GroupKind) *served {
	for i := range c.all {
		if s := &c.all[i]; s.gvr.Group == kind.Group && s.kind == kind.Kind && slices.Contains(s.verbs, "list") {
			return s
		}
	}
	return nil
}

// writable tells whether objects of the resource can be listed and patched.
// Those of a CRD that is being deleted can be patched, although discovery says
// otherwise.
func (s *served) writable() bool {
	has := func(verb string) bool { return slices.Contains(s.verbs, verb) }
	return has("list") && (has("patch") || has("delete") && !has("create"))
}
