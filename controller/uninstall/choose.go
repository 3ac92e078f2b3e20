package uninstall

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	// holds tells that objects may have something of the service on them, and not
	// only that a set which was never in force names the resource.
	holds bool
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
	// inForce tells that its handlers are, or were and have not been removed.
	inForce bool
	// claims tells that its status says something that a controller has found out.
	claims     bool
	gvr        schema.GroupVersionResource // of the set
	uid        types.UID
	generation int64
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
		r.chooseResource(c, chosen, set)
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
			r.add(chosen, s, true)
		} else {
			r.unserved(c, kind.GroupKind().String(), kind.Group, true)
		}
	}
	return true, nil
}

func (r *run) chooseResource(c *installation.Catalog, chosen map[schema.GroupResource]target, set foundSet) {
	if s := c.Find(set.resource); s != nil {
		r.add(chosen, s, set.inForce)
	} else {
		r.unserved(c, set.resource.String(), set.resource.Group, set.inForce)
	}
}

func (r *run) chooseAll(c *installation.Catalog, chosen map[schema.GroupResource]target) {
	for i := range c.All {
		if c.All[i].Writable() {
			r.add(chosen, &c.All[i], false)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(c.Silent)) {
		r.leave(Object{Resource: "*." + group}, "the API server cannot tell its resources: "+c.Silent[group])
	}
}

// unserved is what is made of a resource that discovery does not show.
func (r *run) unserved(c *installation.Catalog, name, group string, holds bool) {
	switch why, silent := c.Silent[group]; {
	case silent && (holds || r.AllResources):
		r.leave(Object{Resource: name}, "the API server cannot tell whether it serves it: "+why)
		return
	case silent:
		r.unneeded(name, "", "the API server cannot tell whether it serves it: "+why)
		return
	}
	r.note("%s is not served any more, so there are no objects of it", name)
}

// unneeded notes that a resource could not be looked through, where that is no harm.
func (r *run) unneeded(name, namespace, why string) {
	r.note("%s%s was not looked through, and need not be, as only sets that were never in force name it: %s", name, in(namespace), why)
}

func (r *run) add(chosen map[schema.GroupResource]target, s *installation.Served, holds bool) {
	if r.confined() && !s.Namespaced {
		return // an installation in some namespaces has nothing outside of them
	}
	t := target{gvr: s.Resource, namespaced: s.Namespaced, finalizer: storage.ServicePrefix.Finalizer()}
	t.holds = holds || chosen[s.Resource.GroupResource()].holds
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
			err := r.findSetsIn(ctx, t, kind, namespace)
			if apierrors.IsForbidden(err) && !r.confined() {
				return fmt.Errorf("list %s; for an installation in some namespaces, name them with --namespaces: %w", t, err)
			}
			if err != nil {
				return fmt.Errorf("list %s%s: %w", t, in(namespace), err)
			}
		}
	}
	return nil
}

func (r *run) findSetsIn(ctx context.Context, t target, kind schema.GroupVersionKind, namespace string) error {
	page := func(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return list, r.Client.List(ctx, list, client.InNamespace(namespace), client.Limit(o.Limit), client.Continue(o.Continue))
	}
	return installation.Pages(ctx, page, func(list *unstructured.UnstructuredList, _ bool) (bool, error) {
		for i := range list.Items { // a set that is seen again does no harm
			r.sets = append(r.sets, setOf(t, &list.Items[i]))
		}
		return true, nil
	})
}

func setOf(t target, u *unstructured.Unstructured) foundSet {
	group, _, _ := unstructured.NestedString(u.Object, "spec", "resource", "group")
	resource, _, _ := unstructured.NestedString(u.Object, "spec", "resource", "resource")
	handlers, _, _ := unstructured.NestedSlice(u.Object, "status", "handlers")
	return foundSet{
		namespace: u.GetNamespace(), name: u.GetName(), resource: schema.GroupResource{Group: group, Resource: resource},
		// Both are there before the first object is touched, and go after the last.
		inForce: len(handlers) > 0 || slices.Contains(u.GetFinalizers(), sets.Cleanup),
		claims:  claims(u), gvr: t.gvr, uid: u.GetUID(), generation: u.GetGeneration(),
	}
}

// claims tells whether the status of a set has conditions, and other ones than those
// with which a run has left it.
func claims(u *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); !ok || c["reason"] != Uninstalled {
			return true
		}
	}
	return false
}
