package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

const (
	// sweepPage is the number of objects that a sweep reads at a time.
	sweepPage = 500
	// sweepPause is the pause before a sweep that has failed is tried again.
	sweepPause = time.Minute
	// cleanPause is the first pause before it is looked whether objects are
	// rid of what is removed, and maxCleanPause the longest.
	cleanPause    = 250 * time.Millisecond
	maxCleanPause = 15 * time.Second
)

// progress tells how far a removal has come.
type progress struct {
	removal Removal
	left    int
	done    bool
	err     error
}

// note takes in how far a removal has come.
func (r *running) note(p progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleaned = p
}

// trouble is what is in the way of the kind being watched or cleaned.
func (r *running) trouble() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cleaned.err
}

// Cleaned tells how many objects of a kind are left that are not rid of what
// is declared as a removal, and whether none is: done. The error is what was
// last in the way.
func (op *Operator) Cleaned(gvk schema.GroupVersionKind) (left int, done bool, err error) {
	op.fleet.mu.Lock()
	r := op.fleet.kinds[gvk.GroupKind()]
	op.fleet.mu.Unlock()
	now, _ := op.current()
	if r == nil || now == nil {
		return 0, false, nil
	}
	want := now.duties()[gvk.GroupKind()].removal
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.cleaned
	if want.empty() || p.removal.serial < want.serial || want.All && !p.removal.All {
		return 0, false, p.err // not looked yet
	}
	return p.left, p.done, p.err
}

// sweep looks after objects outside of what is watched, and cleans those from
// which something is to be removed, until that is done or ctx ends.
func (op *Operator) sweep(ctx context.Context, r *running, d duty, v *view) {
	pause, before := cleanPause, 0
	for ctx.Err() == nil {
		removing := !d.removal.empty()
		if !removing && d.set.Labels() == nil && d.set.Namespaces() == nil {
			return // all is watched
		}
		late := r.passesBefore(v.serial) // they may still write what is to be removed
		left, err := op.sweepOnce(ctx, r.kind, d, v)
		left = max(left, late)
		if err == nil && left == 0 && removing {
			err = op.strike(ctx, d.removal.IDs)
		}
		if ctx.Err() != nil {
			return
		}
		done := err == nil && left == 0
		if removing {
			r.note(progress{removal: d.removal, left: left, done: done, err: err})
		}
		if left < before {
			pause = cleanPause // it goes on
		}
		before = left
		switch {
		case done:
			return
		case !removing && apierrors.IsForbidden(err):
			op.options.Log.Info("Without the right to list in all namespaces, objects outside of the selection are not checked for finalizers", "kind", r.gvk.Kind)
			return
		case !removing && err == nil:
			return // what is held has been enqueued
		case !removing:
			op.options.Log.Error(err, "Objects outside of the selection cannot be checked for finalizers, will retry", "kind", r.gvk.Kind)
			pause = sweepPause
		case err != nil:
			op.options.Log.Error(err, "Objects cannot be cleaned of what is removed, will retry", "kind", r.gvk.Kind)
		}
		op.pause(ctx, pause)
		pause = min(2*pause, maxCleanPause)
	}
}

// sweepOnce enqueues what is to be looked at, and returns how much that is.
func (op *Operator) sweepOnce(ctx context.Context, k *kind, d duty, v *view) (left int, err error) {
	err = op.eachOurs(ctx, k.gvk, d.removal.Namespaces, func(m *metav1.PartialObjectMetadata) error {
		held := slices.Contains(m.Finalizers, op.prefix.Finalizer())
		marked := !d.removal.empty() && op.carries(m, d.removal)
		if !held && !marked {
			return nil
		}
		key := client.ObjectKeyFromObject(m)
		known := k.find(key)
		looked := known != nil && known.uid == m.UID && known.looked.Load() >= v.serial
		if looked && !marked {
			return nil
		}
		left++
		if err := v.cached.Get(ctx, key, k.empty()); err != nil { // not watched
			k.readLive(key)
		}
		k.enqueue(reconcile.Request{NamespacedName: key})
		return nil
	})
	return left, err
}

// carries tells whether an object carries what is to be removed.
func (op *Operator) carries(m *metav1.PartialObjectMetadata, removal Removal) bool {
	marker, err := op.prefix.Read(m.Annotations)
	if errors.Is(err, storage.ErrNewer) {
		return false // to be left alone
	}
	if removal.All {
		marker.Paused = false
		return err != nil || !marker.IsZero()
	}
	return slices.ContainsFunc(removal.IDs, marker.Names)
}

// rid returns the marker without what is removed.
func (p *pass) rid(marker storage.Marker) storage.Marker {
	if p.removal.All {
		return storage.Marker{Paused: marker.Paused}
	}
	return marker.Without(p.removal.IDs)
}

// lateAfter is for how long an object may still come with a stamp that was
// made for a handler which is no more: requests take up to a minute, and a
// webhook apart hears of the end a little later.
const lateAfter = 90 * time.Second

// releaseLate takes our finalizer off the objects of a kind that no handler is
// declared for any more, once no stamp can be under way, and forgets the kind.
func (op *Operator) releaseLate(ctx context.Context, kind schema.GroupVersionKind) {
	if op.pause(ctx, lateAfter) {
		op.releaseKind(ctx, kind)
	}
}

// releaseForgotten takes our finalizer off the objects of kinds that no
// handler is registered for any more. What cannot be done now is tried again,
// also at the next start.
func (op *Operator) releaseForgotten(ctx context.Context, known map[schema.GroupKind]bool) {
	var group sync.WaitGroup
	for _, kind := range op.ledger.Load().forgotten(known) {
		group.Go(func() { op.releaseKind(ctx, kind) })
	}
	group.Wait() // it ends with ctx alone
}

// errDeclared: a kind that was to be forgotten is declared again.
var errDeclared = errors.New("a handler is declared for the kind")

func (op *Operator) releaseKind(ctx context.Context, kind schema.GroupVersionKind) {
	log := op.options.Log.WithValues("kind", kind.String())
	pace := wait.Backoff{Duration: 5 * time.Second, Factor: 2, Steps: 7, Cap: 5 * time.Minute}
	_ = pace.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) { // it ends with ctx
		err := op.forget(ctx, kind)
		done := err == nil || errors.Is(err, errDeclared)
		switch {
		case errors.Is(err, errDeclared), ctx.Err() != nil:
		case err != nil:
			log.Error(err, "Finalizers of a kind without handlers cannot be released, will retry: is the right to list and patch it still there?")
		default:
			log.V(1).Info("Released the finalizers of a kind without handlers")
		}
		return done, nil //nolint:nilerr // it is logged, and tried again
	})
}

// forget releases the objects of a kind, and strikes it off the ledger.
func (op *Operator) forget(ctx context.Context, kind schema.GroupVersionKind) error {
	if err := op.forgettable(kind); err != nil {
		return err
	}
	if err := op.release(ctx, kind); err != nil && !meta.IsNoMatchError(err) { // no kind, no objects
		return err
	}
	return op.strikeKind(ctx, kind)
}

// forgettable tells why a kind must not be forgotten.
func (op *Operator) forgettable(kind schema.GroupVersionKind) error {
	now, _ := op.current()
	if now.known()[kind.GroupKind()] {
		return errDeclared
	}
	if now.keepAll {
		return errors.New("the API server does not tell at present whether handlers are declared for it")
	}
	return nil
}

// release runs a pass without handlers over every object that we hold.
func (op *Operator) release(ctx context.Context, gvk schema.GroupVersionKind) error {
	k := op.newKind(gvk)
	k.view.Store(op.newView(k, &selection.Set{Kind: gvk}, Removal{All: op.options.Declared}, op.client))
	left := 0
	err := op.eachOurs(ctx, gvk, nil, func(m *metav1.PartialObjectMetadata) error {
		if !op.options.Declared && !slices.Contains(m.Finalizers, op.prefix.Finalizer()) {
			return nil
		}
		if err := op.forgettable(gvk); err != nil {
			return err
		}
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

// eachOurs calls f for every object of the kind that carries anything of ours,
// in some namespaces or, where none is named, in all that are the operator's.
func (op *Operator) eachOurs(ctx context.Context, kind schema.GroupVersionKind, namespaces []string, f func(*metav1.PartialObjectMetadata) error) error {
	if len(namespaces) == 0 {
		namespaces = op.options.Namespaces
	}
	if len(namespaces) == 0 {
		return op.eachOursIn(ctx, kind, metav1.NamespaceAll, f)
	}
	for _, namespace := range namespaces {
		if err := op.eachOursIn(ctx, kind, namespace, f); err != nil {
			return err
		}
	}
	return nil
}

func (op *Operator) eachOursIn(ctx context.Context, kind schema.GroupVersionKind, namespace string, f func(*metav1.PartialObjectMetadata) error) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		if err := op.client.List(ctx, list, client.InNamespace(namespace), client.Limit(sweepPage), client.Continue(list.Continue)); err != nil {
			return err
		}
		for i := range list.Items {
			m := &list.Items[i]
			ours := slices.Contains(m.Finalizers, op.prefix.Finalizer())
			for key := range m.Annotations {
				ours = ours || op.prefix.Owns(key)
			}
			if !ours {
				continue
			}
			if err := f(m); err != nil {
				return err
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}
