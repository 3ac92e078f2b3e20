package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	runtimehandler "sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/dogear-dev/dogear/controller/selection"
)

// forever is longer than any process lives. A cache that cannot be filled, for
// want of a right or of the kind itself, holds up its own kind alone.
const forever = 100 * 365 * 24 * time.Hour

// control runs the controllers of all kinds until ctx, which is that of the
// Lease, ends.
func (op *Operator) control(ctx context.Context, sets []*selection.Set) error {
	if err := op.readFence(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	ledger, err := op.openLedger(ctx, sets)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	late := func() {} // called when a kind is served that was not at the start
	if op.options.Webhook != nil {
		publisher, err := op.newPublisher(sets)
		if err != nil {
			return err
		}
		group.Go(func() error { return publisher.Run(ctx) })
		late = func() {
			if err := publisher.Publish(ctx); err != nil && ctx.Err() == nil {
				op.options.Log.Error(err, "The webhook's configuration comes later for a kind that is new")
			}
		}
	}
	for _, set := range sets {
		if len(set.Handlers) > 0 {
			group.Go(func() error { return op.watch(ctx, set, ledger, late) })
		}
	}
	group.Go(func() error { op.releaseForgotten(ctx, ledger, sets); return nil })
	return group.Wait()
}

// watch handles the objects of one kind until ctx ends. A kind that the server
// doesn't know yet is waited for.
func (op *Operator) watch(ctx context.Context, set *selection.Set, ledger *ledger, late func()) error {
	subresource, waited, err := op.awaitKind(ctx, set)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	if waited {
		late()
	}
	informers, err := op.newCache(set)
	if err != nil {
		return err
	}
	k := op.newKind(set, informers, ledger)
	k.subresource = subresource
	c, err := runtimecontroller.NewUnmanaged(op.name()+"/"+strings.ToLower(set.Kind.Kind), runtimecontroller.Options{
		Reconciler:              k,
		MaxConcurrentReconciles: op.options.Workers,
		SkipNameValidation:      new(true),
		LogConstructor:          logOf(op.options.Log.WithValues("kind", set.Kind.Kind)),
		CacheSyncTimeout:        forever,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, maxBlocked),
	})
	if err != nil {
		return fmt.Errorf("set up the controller of %s: %w", set.Kind, err)
	}
	ready := make(chan struct{})
	if err := c.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		k.enqueue = q.Add
		close(ready)
		return nil
	})); err != nil {
		return err
	}
	if err := c.Watch(source.Kind(informers, k.empty(), &runtimehandler.TypedEnqueueRequestForObject[*unstructured.Unstructured]{}, predicate.TypedResourceVersionChangedPredicate[*unstructured.Unstructured]{})); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return informers.Start(ctx) })
	group.Go(func() error { return c.Start(ctx) })
	group.Go(func() error {
		select {
		case <-ready:
			op.sweep(ctx, k)
		case <-ctx.Done():
		}
		return nil
	})
	return ignoreEnd(ctx, group.Wait())
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// awaitKind waits until the API server serves the kind, and tells whether it
// has a status subresource.
func (op *Operator) awaitKind(ctx context.Context, set *selection.Set) (subresource, waited bool, err error) {
	err = wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(context.Context) (bool, error) {
		mapping, e := op.manager.GetRESTMapper().RESTMapping(set.Kind.GroupKind(), set.Kind.Version)
		if e == nil && mapping.GroupVersionKind.Kind != set.Kind.Kind {
			return false, fmt.Errorf("handler %q: Kind is %q: the API server calls it %q", set.Handlers[0].Spec.ID, set.Kind.Kind, mapping.GroupVersionKind.Kind)
		}
		if e == nil {
			subresource, e = hasStatus(op.discovery, mapping)
		}
		if e != nil && !waited {
			waited = true
			op.options.Log.Info("Waiting for the kind to be served: is its CRD installed?", "kind", set.Kind.String(), "error", e.Error())
		}
		return e == nil, nil
	})
	return subresource, waited, err
}

// hasStatus tells whether the kind has a status subresource.
func hasStatus(d discovery.DiscoveryInterface, mapping *meta.RESTMapping) (bool, error) {
	list, err := d.ServerResourcesForGroupVersion(mapping.Resource.GroupVersion().String())
	if err != nil {
		return false, fmt.Errorf("discover the subresources of %s: %w", mapping.Resource, err)
	}
	for _, r := range list.APIResources {
		if r.Name == mapping.Resource.Resource+"/status" {
			return true, nil
		}
	}
	return false, nil
}

// newCache watches only what the handlers can select, and keeps no managedFields.
func (op *Operator) newCache(set *selection.Set) (cache.Cache, error) {
	mapping, err := op.manager.GetRESTMapper().RESTMapping(set.Kind.GroupKind(), set.Kind.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of %s: %w", set.Kind, err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(set.Kind)
	by := cache.ByObject{
		Label:                 set.Labels(),
		Transform:             stripManagedFields,
		UnsafeDisableDeepCopy: new(true),
	}
	if names := set.Namespaces(); names != nil {
		by.Namespaces = map[string]cache.Config{}
		for _, name := range names {
			by.Namespaces[name] = cache.Config{}
		}
	}
	c, err := cache.New(op.config, cache.Options{
		HTTPClient: op.manager.GetHTTPClient(),
		Scheme:     op.options.Scheme,
		Mapper:     mapperOf(mapping),
		ByObject:   map[client.Object]cache.ByObject{u: by},
	})
	if err != nil {
		return nil, fmt.Errorf("set up the cache of %s: %w", set.Kind, err)
	}
	return c, nil
}

// stripManagedFields does to an unstructured object what
// cache.TransformStripManagedFields does, which first decodes the entries.
func stripManagedFields(object any) (any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	}
	return object, nil
}

// mapperOf knows one kind. A cache of several namespaces asks at every read,
// and the manager's mapper takes longer than the read itself.
func mapperOf(mapping *meta.RESTMapping) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.AddSpecific(mapping.GroupVersionKind, mapping.Resource, mapping.Resource, mapping.Scope)
	return m
}

// logOf is the log of one pass, with what is cheap to add.
func logOf(log logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(key *reconcile.Request) logr.Logger {
		if key == nil {
			return log
		}
		return log.WithValues("namespace", key.Namespace, "name", key.Name)
	}
}

func (op *Operator) newKind(set *selection.Set, cached client.Reader, ledger *ledger) *kind {
	k := &kind{
		set: set, prefix: op.prefix, budget: op.options.Budget,
		cached: cached, client: op.client, schemas: op.schemas,
		recorder: op.manager.GetEventRecorder(fieldManager),
		clock:    op.options.Clock, chance: chance, fence: op.fence.Load, leads: op.lease.held, adopts: ledger.adopts,
		tracker: op.tracker, memory: newMemory(),
		enqueue: func(reconcile.Request) {},
	}
	for _, h := range set.Handlers {
		k.ids = append(k.ids, h.Spec.ID)
		limit := h.Spec.Concurrency
		if limit == 0 {
			limit = max(1, op.options.Workers*3/4)
		}
		k.limiters = append(k.limiters, newLimiter(limit, func(key reconcile.Request) { k.enqueue(key) }))
	}
	return k
}
