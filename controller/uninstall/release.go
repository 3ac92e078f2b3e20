package uninstall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
)

const (
	// pageSize is the number of objects that are read at a time.
	pageSize = 500
	// maxLooks is how often all objects are looked at: what was stamped by a
	// request that was under way is found by the second look.
	maxLooks = 3
	// comesBackAfter is for how long is waited, once something was taken off by
	// a second look, for whoever may put it back.
	comesBackAfter = 2 * time.Second
)

// errComesBack: what was taken off is there again.
var errComesBack = errors.New("finalizers come back on objects: a controller still runs outside of the cluster, without a Lease: stop it, and run this again")

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
	if left > 0 && !pause(ctx, left) {
		return ctx.Err()
	}
	return nil
}

// releaseSets takes the finalizer off the sets, which stay as data. A set in
// deletion would be gone with it, so it is kept while objects are left that only
// it knows of.
func (r *run) releaseSets(ctx context.Context) error {
	left := map[string]bool{}
	for _, l := range r.result.Left {
		left[l.Resource] = true
	}
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

// lookAtAll looks once at all objects of the targets. What an earlier look has
// left is judged anew.
func (r *run) lookAtAll(ctx context.Context, targets []target, keep func(*metav1.PartialObjectMetadata) string) (released int, err error) {
	for _, t := range targets {
		l := &look{run: r, target: t, keep: keep, result: r.result.resource(t)}
		l.pace = pace{report: r.Report, now: Event{Resource: t.String()}, told: time.Now()}
		l.result.Left = 0
		r.forgive(t)
		for _, namespace := range r.places(t) {
			if err := l.pages(ctx, namespace); err != nil {
				return released, err
			}
		}
		released += l.released
		l.result.Objects = max(l.result.Objects, l.seen) // fewer, once objects in deletion are gone
		if l.released > 0 || l.result.Left > 0 {
			r.say("%s: %s %d of %d objects%s", t, r.would("released", "would release"), l.released, l.seen, leftText(l.result.Left))
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

// forgive forgets what was left of a target.
func (r *run) forgive(t target) {
	kept := r.result.Left[:0]
	for _, l := range r.result.Left {
		if l.Resource != t.String() {
			kept = append(kept, l)
		}
	}
	r.result.Left = kept
}

// look is one look at the objects of a target.
type look struct {
	*run
	target
	keep     func(*metav1.PartialObjectMetadata) string // why an object stays as it is; nil: none does
	result   *Resource
	seen     int
	released int
	pace     pace
}

// pages looks at the objects in a namespace, or in all, page by page.
func (l *look) pages(ctx context.Context, namespace string) error {
	api := l.metadata.Resource(l.gvr).Namespace(namespace)
	options := metav1.ListOptions{Limit: pageSize}
	for tries := 0; ; {
		page, err := api.List(ctx, options)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsResourceExpired(err):
			options.Continue = resumption(err) // the list took longer than the server remembers
			continue
		case installation.Transient(err) && (tries < maxTries || !installation.Answered(err)):
			if tries++; !pause(ctx, backoff(tries)) {
				return ctx.Err()
			}
			continue
		case err != nil:
			if !apierrors.IsNotFound(err) { // no kind, no objects
				l.leave(l.object(namespace, ""), "its objects cannot be listed: "+installation.Reason(err))
			}
			return nil
		}
		tries = 0
		l.pace.count(func(e *Event) { e.Total = e.Seen + len(page.Items) + remaining(page) })
		if err := l.page(ctx, page.Items); err != nil {
			return err
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// resumption is where a list goes on whose start the server has forgotten; the
// rest is as of now, which is what is wanted. Empty: at its beginning.
func resumption(err error) string {
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return api.Status().Continue
	}
	return ""
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

// tally adds what came of a page to the result, in the order of the page.
func (l *look) tally(objects []metav1.PartialObjectMetadata, outcomes []outcome) {
	l.seen += len(objects)
	for i, o := range outcomes {
		m := &objects[i]
		name := l.object(m.Namespace, m.Name)
		if o.reason != "" {
			l.leave(name, o.reason)
			l.result.Left++
		}
		l.released += o.count()
		if o.cleaned {
			l.result.Cleaned++
		}
		if o.released {
			l.result.Released++
			if m.DeletionTimestamp != nil && l.finalizer != sets.Cleanup {
				l.run.result.Unfinished.add(name)
			}
		}
	}
}
