package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/selection"
)

// sweepPage is the number of objects that a sweep reads at a time.
const sweepPage = 500

// sweepPause is the pause before a sweep that has failed is tried again.
const sweepPause = time.Minute

// sweep looks for objects that carry our finalizer outside of what is watched,
// such as one that lost its label while nobody looked, and has it released.
// Where everything is watched there is nothing to sweep.
func (op *Operator) sweep(ctx context.Context, k *kind) {
	if k.set.Labels() == nil && k.set.Namespaces() == nil {
		return
	}
	for ctx.Err() == nil {
		err := op.sweepOnce(ctx, k)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err):
			op.options.Log.Info("Without the right to list in all namespaces, objects outside of the selection are not checked for finalizers", "kind", k.set.Kind.Kind)
			return
		}
		op.options.Log.Error(err, "Objects outside of the selection cannot be checked for finalizers, will retry", "kind", k.set.Kind.Kind)
		select {
		case <-ctx.Done():
		case <-op.options.Clock.After(sweepPause):
		}
	}
}

func (op *Operator) sweepOnce(ctx context.Context, k *kind) error {
	return op.eachHeld(ctx, k.set.Kind, func(m *metav1.PartialObjectMetadata) error {
		key := client.ObjectKeyFromObject(m)
		if err := k.cached.Get(ctx, key, k.empty()); err == nil {
			return nil // watched
		}
		k.of(key, m.UID).held = true
		k.enqueue(reconcile.Request{NamespacedName: key})
		return nil
	})
}

// releaseForgotten takes our finalizer off the objects of kinds that no
// handler is registered for any more. What cannot be done now is tried again,
// also at the next start.
func (op *Operator) releaseForgotten(ctx context.Context, l *ledger, sets []*selection.Set) {
	var group errgroup.Group
	for _, kind := range l.forgotten(sets) {
		group.Go(func() error {
			log := op.options.Log.WithValues("kind", kind.String())
			pace := wait.Backoff{Duration: 5 * time.Second, Factor: 2, Steps: 7, Cap: 5 * time.Minute}
			return pace.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
				err := op.forget(ctx, kind)
				if err != nil && ctx.Err() == nil {
					log.Error(err, "Finalizers of a kind without handlers cannot be released, will retry: is the right to list and patch it still there?")
				} else if err == nil {
					log.Info("Released the finalizers of a kind without handlers")
				}
				return err == nil, nil
			})
		})
	}
	_ = group.Wait() // it ends with ctx alone
}

// forget releases the objects of a kind, and strikes it off the ledger.
func (op *Operator) forget(ctx context.Context, kind schema.GroupVersionKind) error {
	if err := op.release(ctx, kind); err != nil && !meta.IsNoMatchError(err) { // no kind, no objects
		return err
	}
	_, err := op.syncLedger(ctx, func(l *ledger) {
		l.Kinds = slices.DeleteFunc(l.Kinds, func(name string) bool { return name == kindName(kind) })
	})
	return err
}

// release runs a pass without handlers over every object that we hold.
func (op *Operator) release(ctx context.Context, gvk schema.GroupVersionKind) error {
	k := op.newKind(&selection.Set{Kind: gvk}, op.client, &ledger{})
	left := 0
	err := op.eachHeld(ctx, gvk, func(m *metav1.PartialObjectMetadata) error {
		result, err := k.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(m)})
		if err != nil || result.RequeueAfter > 0 {
			left++ // one that the server refuses holds up no other
		}
		return ctx.Err()
	})
	if err == nil && left > 0 {
		err = fmt.Errorf("%d objects cannot be written at present", left)
	}
	return err
}

// eachHeld calls f for every object of the kind that carries our finalizer.
func (op *Operator) eachHeld(ctx context.Context, kind schema.GroupVersionKind, f func(*metav1.PartialObjectMetadata) error) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		if err := op.client.List(ctx, list, client.Limit(sweepPage), client.Continue(list.Continue)); err != nil {
			return err
		}
		for i := range list.Items {
			if slices.Contains(list.Items[i].Finalizers, op.prefix.Finalizer()) {
				if err := f(&list.Items[i]); err != nil {
					return err
				}
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}
