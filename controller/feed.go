package controller

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	runtimehandler "sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/selection"
)

// scope is what of a kind is watched.
type scope struct {
	labels     string
	namespaces string
}

func scopeOf(set *selection.Set) scope {
	s := scope{namespaces: fmt.Sprint(set.Namespaces())}
	if labels := set.Labels(); labels != nil {
		s.labels = labels.String()
	}
	return s
}

// feeder keeps the view of a kind as it is declared, and its queue filled with
// what has changed.
type feeder struct {
	*Operator
	*running
	queue     queue
	informers cache.Cache // nil: none yet
	watched   scope       // of informers
	stop      context.CancelFunc
}

// feed does so until ctx ends.
func (op *Operator) feed(ctx context.Context, r *running, q queue) {
	f := &feeder{Operator: op, running: r, queue: q, stop: func() {}}
	defer func() { f.stop() }()
	defer op.gates.leave(r.kind, nil) // its last passes find no line there
	for ctx.Err() == nil {
		d, changed := r.todo()
		f.fulfil(ctx, d, changed)
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// fulfil does what is declared, until it is or something else is.
func (f *feeder) fulfil(ctx context.Context, d duty, changed <-chan struct{}) {
	step, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-changed:
			cancel()
		case <-step.Done():
		}
	}()
	for {
		err := f.adjust(ctx, step, d)
		if step.Err() != nil {
			return
		}
		if err == nil {
			break
		}
		f.options.Log.Error(err, "The kind cannot be watched, will retry", "kind", f.gvk.String())
		select {
		case <-step.Done():
			return
		case <-f.options.Clock.After(watchPause):
		}
	}
	f.sweep(step, f.running, d, f.view.Load())
}

// watchPause is the pause before a kind that cannot be watched is tried again.
const watchPause = 2 * time.Second

// adjust has passes go by what is declared from now on. Where other objects
// are to be watched, that begins with all of them known.
func (f *feeder) adjust(ctx, step context.Context, d duty) error {
	if len(d.set.Handlers) == 0 {
		// Nothing is to be watched: what has to be removed is looked for.
		f.stop()
		f.informers, f.stop = nil, func() {}
		f.goBy(f.newView(f.kind, d.set, d.removal, f.client))
		return nil
	}
	if s := scopeOf(d.set); f.informers == nil || s != f.watched {
		informers, stop, err := f.open(ctx, step, d)
		if err != nil {
			return err
		}
		if err := f.swap(step, d, informers); err != nil {
			stop()
			return err
		}
		f.stop()
		f.informers, f.watched, f.stop = informers, s, stop
		return nil
	}
	f.goBy(f.newView(f.kind, d.set, d.removal, f.informers))
	return f.enqueueAll(step, f.informers, f.queue)
}

// swap has passes read from another cache. What was known before gets a pass,
// too: the one that finds it gone forgets it.
func (f *feeder) swap(step context.Context, d duty, informers cache.Cache) error {
	before := f.view.Load()
	v := f.newView(f.kind, d.set, d.removal, informers)
	f.view.Store(v)
	if err := f.listen(step, informers, f.queue); err != nil {
		if before != nil {
			f.view.Store(before)
		}
		return err
	}
	f.gates.leave(f.kind, v.lines)
	known := &listener{queue: f.queue, context: step}
	for _, key := range f.known() {
		u := f.empty()
		u.SetNamespace(key.Namespace)
		u.SetName(key.Name)
		known.OnAdd(u, true)
	}
	return nil
}

// goBy has passes go by a view from now on.
func (f *feeder) goBy(v *view) {
	f.view.Store(v)
	f.gates.leave(f.kind, v.lines)
}

// open watches what a set can select, and returns when all of it is known, or
// step ends. What it returns runs until ctx ends.
func (f *feeder) open(ctx, step context.Context, d duty) (cache.Cache, context.CancelFunc, error) {
	mapping, err := f.manager.GetRESTMapper().RESTMapping(f.gvk.GroupKind(), f.gvk.Version)
	if err != nil {
		return nil, nil, fmt.Errorf("find the resource of %s: %w", f.gvk, err)
	}
	subresource, err := hasStatus(f.discovery, mapping)
	if err != nil {
		return nil, nil, err
	}
	f.subresource.Store(subresource)
	informers, err := f.newCache(mapping, d.set)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return informers.Start(ctx) })
	waiting, synced := context.WithCancel(step)
	defer synced()
	go f.explain(waiting, d)
	if _, err = informers.GetInformer(step, f.empty(), cache.BlockUntilSynced(false)); err == nil && !informers.WaitForCacheSync(step) {
		err = context.Cause(step)
	}
	if err != nil {
		stop()
		_ = group.Wait() // only the first error counts
		return nil, nil, err
	}
	return informers, func() { stop(); _ = group.Wait() }, nil
}

// explainAfter is after how long a cache that is not filled is explained.
const explainAfter = 5 * time.Second

// explain finds out why the objects are not known yet, until ctx ends.
func (f *feeder) explain(ctx context.Context, d duty) {
	for f.pause(ctx, explainAfter) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(f.gvk.GroupVersion().WithKind(f.gvk.Kind + "List"))
		namespaces := d.set.Namespaces()
		if namespaces == nil {
			namespaces = []string{metav1.NamespaceAll}
		}
		var err error
		for _, namespace := range namespaces {
			if e := f.Operator.client.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); e != nil && err == nil {
				err = e
			}
		}
		if ctx.Err() == nil && err != nil {
			f.options.Log.Error(err, "The objects of a kind are not known yet, will retry", "kind", f.gvk.String())
			f.note(progress{removal: d.removal, err: err})
		}
	}
}

// newCache watches only what the handlers can select, and keeps no managedFields.
func (op *Operator) newCache(mapping *meta.RESTMapping, set *selection.Set) (cache.Cache, error) {
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

// mapperOf knows one kind. A cache of several namespaces asks at every read,
// and the manager's mapper takes longer than the read itself.
func mapperOf(mapping *meta.RESTMapping) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	list := mapping.GroupVersionKind
	list.Kind += "List"
	m.AddSpecific(list, mapping.Resource, mapping.Resource, mapping.Scope)
	m.AddSpecific(mapping.GroupVersionKind, mapping.Resource, mapping.Resource, mapping.Scope)
	return m
}

// listen enqueues all objects of a cache, and from now on those that change.
func (k *kind) listen(ctx context.Context, informers cache.Cache, q queue) error {
	informer, err := informers.GetInformer(ctx, k.empty(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("listen to what is watched of %s: %w", k.gvk, err)
	}
	// The context of the events is of no use to what enqueues.
	_, err = informer.AddEventHandler(&listener{queue: q, context: context.WithoutCancel(ctx)})
	return err
}

// listener enqueues the objects that events are about.
type listener struct {
	runtimehandler.TypedEnqueueRequestForObject[*unstructured.Unstructured]
	queue   queue
	context context.Context //nolint:containedctx // client-go's interface has none
}

// OnAdd implements cache.ResourceEventHandler.
func (l *listener) OnAdd(object any, initial bool) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		l.Create(l.context, event.TypedCreateEvent[*unstructured.Unstructured]{Object: u, IsInInitialList: initial}, l.queue)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (l *listener) OnUpdate(before, after any) {
	old, _ := before.(*unstructured.Unstructured)
	u, ok := after.(*unstructured.Unstructured)
	if ok && (old == nil || old.GetResourceVersion() != u.GetResourceVersion()) {
		l.Update(l.context, event.TypedUpdateEvent[*unstructured.Unstructured]{ObjectOld: old, ObjectNew: u}, l.queue)
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (l *listener) OnDelete(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		l.Delete(l.context, event.TypedDeleteEvent[*unstructured.Unstructured]{Object: u}, l.queue)
	}
}

// enqueueAll has a pass over every object that is watched, after those that
// have changed.
func (k *kind) enqueueAll(ctx context.Context, informers cache.Cache, q queue) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	if err := informers.List(ctx, list); err != nil {
		return fmt.Errorf("list what is watched of %s: %w", k.gvk, err)
	}
	all := &listener{queue: q, context: ctx}
	for i := range list.Items {
		all.OnAdd(&list.Items[i], true)
	}
	return nil
}

// wake has a pass over the objects of a namespace that are watched.
func (r *running) wake(ctx context.Context, namespace string) error {
	v := r.view.Load()
	if v == nil || r.stopped() || !v.watches(namespace) {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.gvk.GroupVersion().WithKind(r.gvk.Kind + "List"))
	if err := v.cached.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		r.enqueue(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: list.Items[i].GetName()}})
	}
	return nil
}
