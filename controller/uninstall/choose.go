package uninstall

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/storage"
)

// target is a resource whose objects are to be released.
type target struct {
	gvr        schema.GroupVersionResource
	namespaced bool
	// finalizer is taken off, and so are all annotations of prefix; empty: none.
	finalizer string
	prefix    storage.Prefix
}

// String is the resource as in certificates.cert-manager.io.
func (t target) String() string { return t.gvr.GroupResource().String() }

func (t target) object(namespace, name string) Object {
	return Object{Resource: t.String(), Namespace: namespace, Name: name}
}

// foundSet is a set, and the resource that it names.
type foundSet struct {
	namespace, name string
	resource        schema.GroupResource
}

// setResources are those of the sets.
var setResources = []schema.GroupResource{
	{Group: v1alpha1.GroupVersion.Group, Resource: "clusterhandlersets"},
	{Group: v1alpha1.GroupVersion.Group, Resource: "handlersets"},
}

// choose finds out on which resources the service may have left something.
func (r *run) choose(ctx context.Context) error {
	c, err := installation.ReadCatalog(ctx, r.Discovery)
	if err != nil {
		return err
	}
	r.targets, r.sets, r.result.Left = nil, nil, nil // of a try before
	chosen := map[schema.GroupResource]target{}
	known, err := r.chooseByLedger(c, chosen)
	if err != nil {
		return err
	}
	if err := r.findSets(ctx, c); err != nil {
		return err
	}
	for _, set := range r.sets {
		r.chooseResource(c, chosen, set.resource)
	}
	if r.AllResources {
		r.chooseAll(c, chosen)
	} else if !known && len(r.sets) == 0 {
		r.result.Uncertain = true
		r.note("Neither a ledger nor sets tell which kinds were handled: to be sure that no object is left with a finalizer, run this with --all-resources")
	}
	if r.RemoveMarkers && !r.AllResources {
		r.note("Annotations were looked for on objects of the kinds that the ledger and the sets name: a set that was deleted before may have left some on others, which --all-resources looks through, too")
	}
	for _, name := range slices.SortedFunc(maps.Keys(chosen), byName) {
		r.targets = append(r.targets, chosen[name])
	}
	return nil
}

func byName(a, b schema.GroupResource) int {
	if a.String() < b.String() {
		return -1
	}
	return 1
}

// chooseByLedger takes the kinds on which the service has left finalizers,
// and tells whether there is a ledger that knows.
func (r *run) chooseByLedger(c *installation.Catalog, chosen map[schema.GroupResource]target) (known bool, err error) {
	if r.found == nil || r.found.Ledger == nil {
		return false, nil
	}
	kinds, err := controller.LedgerKinds(r.found.Ledger)
	if err != nil && r.AllResources {
		r.note("The ledger cannot be read, so it was left out: %s", err)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w, and run this with --all-resources", err)
	}
	for _, kind := range kinds {
		if s := c.FindKind(kind.GroupKind()); s != nil {
			r.add(chosen, s)
		} else {
			r.unserved(c, kind.GroupKind().String(), kind.Group)
		}
	}
	return true, nil
}

func (r *run) chooseResource(c *installation.Catalog, chosen map[schema.GroupResource]target, name schema.GroupResource) {
	if s := c.Find(name); s != nil {
		r.add(chosen, s)
	} else {
		r.unserved(c, name.String(), name.Group)
	}
}

func (r *run) chooseAll(c *installation.Catalog, chosen map[schema.GroupResource]target) {
	for i := range c.All {
		if c.All[i].Writable() {
			r.add(chosen, &c.All[i])
		}
	}
	for _, group := range slices.Sorted(maps.Keys(c.Silent)) {
		r.leave(Object{Resource: "*." + group}, "the API server cannot tell its resources: "+c.Silent[group])
	}
}

// unserved is what is made of a resource that discovery does not show.
func (r *run) unserved(c *installation.Catalog, name, group string) {
	if why, ok := c.Silent[group]; ok {
		r.leave(Object{Resource: name}, "the API server cannot tell whether it serves it: "+why)
		return
	}
	r.note("%s is not served any more, so there are no objects of it", name)
}

func (r *run) add(chosen map[schema.GroupResource]target, s *installation.Served) {
	if r.confined() && !s.Namespaced {
		return // an installation in some namespaces has nothing outside of them
	}
	t := target{gvr: s.Resource, namespaced: s.Namespaced, finalizer: storage.ServicePrefix.Finalizer()}
	if r.RemoveMarkers {
		t.prefix = storage.ServicePrefix
	}
	chosen[s.Resource.GroupResource()] = t
}

// setTargets are the resources of the sets themselves, as far as they are
// served.
func (r *run) setTargets(c *installation.Catalog) (targets []target) {
	for _, name := range setResources {
		if s := c.Find(name); s != nil && (s.Namespaced || !r.confined()) {
			targets = append(targets, target{gvr: s.Resource, namespaced: s.Namespaced, finalizer: sets.Cleanup})
		}
	}
	return targets
}

// findSets finds all sets, in whatever version they are served.
func (r *run) findSets(ctx context.Context, c *installation.Catalog) error {
	r.setKinds = r.setTargets(c)
	for _, t := range r.setKinds {
		for _, namespace := range r.places(t) {
			kind := t.gvr.GroupVersion().WithKind(c.Find(t.gvr.GroupResource()).Kind + "List")
			if err := r.findSetsIn(ctx, kind, namespace); err != nil {
				return fmt.Errorf("list %s%s: %w", t, in(namespace), err)
			}
		}
	}
	return nil
}

func (r *run) findSetsIn(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	page := func(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return list, r.Client.List(ctx, list, client.InNamespace(namespace), client.Limit(o.Limit), client.Continue(o.Continue))
	}
	return installation.Pages(ctx, page, func(list *unstructured.UnstructuredList, _ bool) (bool, error) {
		for i := range list.Items { // a set that is seen again does no harm
			r.sets = append(r.sets, setOf(&list.Items[i]))
		}
		return true, nil
	})
}

func setOf(u *unstructured.Unstructured) foundSet {
	group, _, _ := unstructured.NestedString(u.Object, "spec", "resource", "group")
	resource, _, _ := unstructured.NestedString(u.Object, "spec", "resource", "resource")
	return foundSet{u.GetNamespace(), u.GetName(), schema.GroupResource{Group: group, Resource: resource}}
}
