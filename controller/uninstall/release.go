package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
)

const (
	// maxLooks is how often all objects are looked at: what was stamped by a
	// request that was under way is found by the second look.
	maxLooks = 3
	// comesBackAfter is for how long is waited, once something was taken off by
	// a second look, for whoever may put it back.
	comesBackAfter = 2 * time.Second
)

// errComesBack: what was taken off is there again.
var errComesBack = errors.New("finalizers come back on objects: a controller still runs outside of the cluster, without a Lease, or another Dogear works in these namespaces: stop it, and run this again")

// release takes what is to be removed off all objects. It looks until there is
// nothing any more.
func (r *run) release(ctx context.Context) error {
	for look := 1; ; look++ {
		released, err := r.lookAtAll(ctx, r.targets, nil)
		if err != nil {
			return err
		}
		if r.DryRun || released == 0 && (look > 1 || r.unhooked.IsZero()) {
			return nil
		}
		if look == maxLooks {
			return errComesBack
		}
		if err := r.settleDown(ctx, look); err != nil {
			return err
		}
	}
}

// settleDown waits before another look, so that it sees what was under way.
func (r *run) settleDown(ctx context.Context, look int) error {
	left := r.Settle - time.Since(r.unhooked)
	switch {
	case len(r.targets) == 0:
		return nil
	case left > time.Second:
		r.say("Waiting %v for requests that were under way when the webhook was removed", left.Round(time.Second))
	case look > 1:
		left = max(left, comesBackAfter)
	}
	if left > 0 && !installation.Pause(ctx, left) {
		return ctx.Err()
	}
	return nil
}

// releaseSets takes the finalizer off the sets, which stay as data. A set in
// deletion would be gone with it, so it is kept while objects are left that only
// it knows of.
func (r *run) releaseSets(ctx context.Context) error {
	left := r.leftResources()
	_, err := r.lookAtAll(ctx, r.setKinds, func(m *metav1.PartialObjectMetadata) string {
		for _, set := range r.sets {
			if m.DeletionTimestamp != nil && set.namespace == m.Namespace && set.name == m.Name && left[set.resource.String()] {
				return "it is being deleted, and objects of " + set.resource.String() + " are left"
			}
		}
		return ""
	})
	return err
}

// leftResources are those of which something is left.
func (r *run) leftResources() map[string]bool {
	left := map[string]bool{}
	for _, l := range r.result.Left {
		left[l.Resource] = true
	}
	return left
}

// lookAtAll looks once at all objects of the targets. What an earlier look has
// left is judged anew.
func (r *run) lookAtAll(ctx context.Context, targets []target, keep func(*metav1.PartialObjectMetadata) string) (released int, err error) {
	for _, t := range targets {
		r.looks++
		l := &look{run: r, target: t, keep: keep, number: r.looks, traces: r.tracesOf(t)}
		l.pace = pace{report: r.Report, now: Event{Resource: t.String()}, told: time.Now()}
		for _, namespace := range r.places(t) {
			if err = l.pages(ctx, namespace); err != nil {
				break
			}
		}
		released += l.released
		left := l.sum(r.result.resource(t))
		if err != nil {
			return released, err
		}
		if l.released > 0 || left > 0 {
			r.say("%s: %s %d of %d objects%s", t, r.would("released", "would release"), l.released, l.seen, leftText(left))
		}
	}
	return released, nil
}

func leftText(left int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf(", %d cannot be written", left)
}

// forgive forgets what was left of a target in a place.
func (r *run) forgive(t target, namespace string) {
	r.result.Left = slices.DeleteFunc(r.result.Left, func(l Left) bool {
		return l.Resource == t.String() && (namespace == "" || l.Namespace == namespace)
	})
}

// look is one look at the objects of a target.
type look struct {
	*run
	target
	keep     func(*metav1.PartialObjectMetadata) string // why an object stays as it is; nil: none does
	number   int
	traces   map[types.UID]*trace
	seen     int
	released int
	pace     pace
}

// pages looks at the objects in a namespace, or in all, page by page.
func (l *look) pages(ctx context.Context, namespace string) error {
	before := l.seen
	l.forgive(l.target, namespace)
	err := installation.Pages(ctx, l.Metadata.Resource(l.gvr).Namespace(namespace).List, func(page *metav1.PartialObjectMetadataList, anew bool) (bool, error) {
		if anew {
			l.seen = before
			l.forgive(l.target, namespace)
		}
		l.pace.count(func(e *Event) { e.Total = e.Seen + len(page.Items) + remaining(page) })
		return true, l.page(ctx, page.Items)
	})
	switch {
	case err == nil, apierrors.IsNotFound(err): // no kind, no objects
		return nil
	case !installation.Answered(err):
		return fmt.Errorf("list %s%s: %w", l.target, in(namespace), err)
	}
	why := unlistable + installation.Reason(err)
	if l.expendable() {
		l.unneeded(l.String(), namespace, why)
		return nil
	}
	l.leave(l.object(namespace, ""), why)
	return nil
}

// unlistable begins the reason why objects stay that nobody has seen.
const unlistable = "its objects cannot be listed: "

// expendable tells that nothing is lost where the objects cannot be listed: what the
// service may have left on them is what it leaves on none.
func (l *look) expendable() bool {
	return !l.holds && !l.AllResources && l.finalizer != sets.Cleanup
}

func remaining(page *metav1.PartialObjectMetadataList) int {
	if page.RemainingItemCount == nil {
		return 0
	}
	return int(*page.RemainingItemCount)
}

// page releases the objects of a page, several at a time.
func (l *look) page(ctx context.Context, objects []metav1.PartialObjectMetadata) error {
	outcomes := make([]outcome, len(objects))
	var group errgroup.Group
	group.SetLimit(l.Workers)
	for i := range objects {
		m := &objects[i]
		switch {
		case l.patchOf(m) == nil:
		case l.keep != nil && l.keep(m) != "":
			outcomes[i].reason = l.keep(m)
		default:
			group.Go(func() error {
				outcomes[i] = l.releaseOne(ctx, m)
				l.pace.count(func(e *Event) { e.Seen++; e.Released += outcomes[i].count() })
				return nil
			})
			continue
		}
		l.pace.count(func(e *Event) { e.Seen++ })
	}
	_ = group.Wait() // outcomes has all
	l.tally(objects, outcomes)
	return ctx.Err()
}

// tally notes what came of a page, in its order.
func (l *look) tally(objects []metav1.PartialObjectMetadata, outcomes []outcome) {
	l.seen += len(objects)
	for i, o := range outcomes {
		m := &objects[i]
		name := l.object(m.Namespace, m.Name)
		if o.reason != "" {
			l.leave(name, o.reason)
		}
		l.released += o.count()
		if first := l.trace(m.UID, o); first && m.DeletionTimestamp != nil && l.finalizer != sets.Cleanup {
			l.run.result.Unfinished.add(name)
		}
	}
}
