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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/dogear-dev/dogear/controller/selection"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// forever is longer than any process lives. A cache that cannot be filled, for
// want of a right or of the kind itself, holds up its own kind alone.
const forever = 100 * 365 * 24 * time.Hour

// control looks after all kinds until ctx, which is that of the Lease, ends.
func (op *Operator) control(ctx context.Context) error {
	if err := op.readFence(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	if err := op.awaitAlone(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	first, err := op.firstDeclared(ctx)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	if err := op.enterLedger(ctx, first.sets); err != nil {
		return ignoreEnd(ctx, err)
	}
	handling, end := op.drained(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	late := func() {} // called when a kind is served that was not at the start
	if op.options.Webhook != nil {
		wake := make(chan struct{}, 1)
		publisher, err := op.newPublisher(wake)
		if err != nil {
			return err
		}
		group.Go(func() error { return publisher.Run(ctx) })
		late = func() {
			select {
			case wake <- struct{}{}:
			default: // the next look comes anyway
			}
		}
		group.Go(func() error { op.republish(ctx, late); return nil })
	}
	group.Go(func() error { return op.runKinds(ctx, handling, late) })
	group.Go(func() error { op.releaseForgotten(ctx, first.known()); return nil })
	return group.Wait()
}

// firstDeclared waits until something is declared.
func (op *Operator) firstDeclared(ctx context.Context) (*declared, error) {
	for {
		now, changed := op.current()
		if now != nil {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

// republish calls wake at the start, as something may have changed since, and
// after each change of what is declared.
func (op *Operator) republish(ctx context.Context, wake func()) {
	for {
		_, changed := op.current()
		wake()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// watch handles the objects of one kind until ctx ends. A kind that the server
// doesn't know yet is waited for.
func (op *Operator) watch(ctx context.Context, r *running, late func()) error {
	waited, err := op.awaitKind(ctx, r)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	if waited {
		late()
	}
	c, err := runtimecontroller.NewUnmanaged(op.name()+"/"+strings.ToLower(r.gvk.Kind), runtimecontroller.Options{
		Reconciler:              r.kind,
		MaxConcurrentReconciles: op.options.Workers,
		SkipNameValidation:      new(true),
		LogConstructor:          logOf(op.options.Log.WithValues("kind", r.gvk.Kind)),
		CacheSyncTimeout:        forever,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, maxBlocked),
	})
	if err != nil {
		return fmt.Errorf("set up the controller of %s: %w", r.gvk, err)
	}
	queues := make(chan queue, 1)
	if err := c.Watch(source.Func(func(_ context.Context, q queue) error { queues <- q; return nil })); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.Start(ctx) })
	group.Go(func() error {
		select {
		case q := <-queues:
			r.enqueue = q.Add
			op.feed(ctx, r, q)
		case <-ctx.Done():
		}
		return nil
	})
	err = group.Wait()
	r.forgetAll()
	return ignoreEnd(ctx, err)
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// awaitKind waits until the API server serves the kind.
func (op *Operator) awaitKind(ctx context.Context, r *running) (waited bool, err error) {
	err = wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(context.Context) (bool, error) {
		mapping, e := op.manager.GetRESTMapper().RESTMapping(r.gvk.GroupKind(), r.gvk.Version)
		if e == nil && mapping.GroupVersionKind.Kind != r.gvk.Kind {
			return false, fmt.Errorf("kind %q: the API server calls it %q", r.gvk.Kind, mapping.GroupVersionKind.Kind)
		}
		if e != nil {
			d, _ := r.todo()
			r.note(progress{removal: d.removal, done: meta.IsNoMatchError(e), err: e}) // no kind, no objects
			if !waited {
				waited = true
				op.options.Log.Info("Waiting for the kind to be served: is its CRD installed?", "kind", r.gvk.String(), "error", e.Error())
			}
		}
		return e == nil, nil
	})
	return waited, err
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

// stripManagedFields does to an unstructured object what
// cache.TransformStripManagedFields does, which first decodes the entries.
func stripManagedFields(object any) (any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	}
	return object, nil
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

func (op *Operator) newKind(gvk schema.GroupVersionKind) *kind {
	return &kind{
		gvk: gvk, prefix: op.prefix, budget: op.options.Budget,
		client: op.client, schemas: op.schemas,
		recorder: op.manager.GetEventRecorder(fieldManager),
		clock:    op.options.Clock, chance: chance, fence: op.fence.Load, leads: op.lease.held,
		adopts:  func(h *selection.Handler, created time.Time) bool { return op.ledger.Load().adopts(h, created) },
		tracker: op.tracker, memory: newMemory(),
		enqueue: func(reconcile.Request) {},
	}
}
