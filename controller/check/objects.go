package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (r *round) objectChecks() []Check {
	checks := []Check{{Group: "objects", Name: "stuck finalizers", Link: "an-object-is-stuck-in-deletion", Run: r.stuck}}
	if r.options.Domain == "" {
		checks = append(checks, Check{Group: "objects", Name: "blocked", Link: "an-object-is-blocked", Run: r.blocked})
	}
	return append(checks,
		Check{Group: "objects", Name: "failed for good", Link: "a-handler-has-failed-for-good", Run: r.failedForGood},
		Check{Group: "objects", Name: "leftovers", Link: "finalizers-are-left-over", Run: r.leftovers},
	)
}

func (r *round) stuck(ctx context.Context) Result {
	scans, unseen, err := r.scanned(ctx)
	if err != nil {
		return r.unread(err)
	}
	var stuck, waiting []string
	for _, s := range scans {
		stuck, waiting = append(stuck, s.stuck...), append(waiting, s.waiting...)
	}
	switch {
	case len(stuck) > 0:
		return failed("in deletion for more than %[2]s with the finalizer %[3]s: %[1]s", count(len(stuck), "object"), stuckAfterText, r.prefix.Finalizer()).about(stuck...).
			hint("mend what the handler complains of; to let one object go without it: kubectl -n NAMESPACE edit KIND NAME, and take the finalizer out").ofSets()
	case len(waiting) > 0:
		return warned("in deletion for more than %s, as their handlers wait, or they are paused: %s", stuckAfterText, count(len(waiting), "object")).about(waiting...).
			hint("if that takes too long, look at the endpoint of the handler; the annotation %s/paused is a person's", r.prefix)
	}
	return r.seen(scans, unseen, "no object has been in deletion for more than "+stuckAfterText)
}

// seen is the result of a look that has found nothing.
func (r *round) seen(scans []*scan, unseen []string, nothing string) Result {
	switch {
	case len(scans)+len(unseen) == 0:
		return skipped("no resource is declared")
	case len(scans) == 0:
		return skipped("no object could be looked at").about(unseen...).hint("ask as somebody who may list them")
	case len(unseen) > 0:
		return passed("%s, of those that could be looked at", nothing).about(unseen...)
	}
	return passed("%s", nothing)
}

// blocked counts by the sets, which know it at once, and names by events, which
// are kept for an hour.
func (r *round) blocked(ctx context.Context) Result {
	sets, err := r.sets(ctx)
	if err != nil {
		return r.unread(err)
	}
	var n int64
	var texts []string
	for _, set := range sets {
		if b := set.Observed().Blocked; b > 0 {
			n += b
			texts = append(texts, nameOf(set)+": "+count(int(b), "object"))
		}
	}
	if n == 0 {
		return passed("none")
	}
	named, err := r.blockedByEvents(ctx)
	if err == nil && len(named) > 0 {
		texts = named
	}
	return failed("the API server refuses to store the state of %s: it is kept in memory, and would be lost with the controller", count(int(n), "object")).about(texts...).
		hint("mend the object, so that it is valid as stored, or make room in its annotations; events tell more: " +
			"kubectl get events -A --field-selector reason=Blocked").ofSets()
}

// blockedByEvents names objects that were blocked lately.
func (r *round) blockedByEvents(ctx context.Context) (texts []string, err error) {
	list := &eventsv1.EventList{}
	for _, namespace := range r.everywhere(ctx) {
		err = errors.Join(err, r.pages(ctx, list, func() bool {
			for i := range list.Items {
				e := &list.Items[i]
				o := &metav1.ObjectMeta{Namespace: e.Regarding.Namespace, Name: e.Regarding.Name}
				texts = append(texts, fmt.Sprintf("%s %s: %s", e.Regarding.Kind, keyOf(o), e.Note))
			}
			return len(texts) < mostScanned
		}, client.InNamespace(namespace), client.MatchingFields{"reason": "Blocked", "reportingController": "dogear"}))
	}
	slices.Sort(texts)
	return slices.Compact(texts), err
}

func (r *round) failedForGood(ctx context.Context) Result {
	scans, unseen, err := r.scanned(ctx)
	if err != nil {
		return r.unread(err)
	}
	var named []string
	for _, s := range scans {
		named = append(named, s.failed...)
	}
	n := int64(len(named))
	if sets, err := r.sets(ctx); err == nil && r.options.Domain == "" && len(named) == 0 {
		for _, set := range sets {
			n += set.Observed().Failed
		}
	}
	if n > 0 {
		return warned("a handler has failed for good on %s", count(int(n), "object")).about(named...).
			hint("the annotation %s/progress and the events of the object say more; to have them run again: kubectl -n NAMESPACE annotate KIND NAME %s/retry='*'", r.prefix, r.prefix)
	}
	return r.seen(scans, unseen, "none")
}

// leftovers looks at kinds on which finalizers were left, and that nobody
// declares any more.
func (r *round) leftovers(ctx context.Context) Result {
	kinds, err := r.ledger(ctx)
	if err != nil {
		return r.unread(err)
	}
	declared, err := r.declared(ctx)
	if err != nil {
		return r.unread(err)
	}
	var named, unseen []string
	n := 0
	for _, kind := range kinds {
		if slices.ContainsFunc(declared, func(res *resource) bool { return res.kind.GroupKind() == kind.GroupKind() }) {
			continue
		}
		s := r.scan(ctx, kind, r.everywhere(ctx))
		if s.err != nil {
			if !isGone(s.err) {
				unseen = append(unseen, fmt.Sprintf("%s: %s", nameOfKind(kind), s.err))
			}
			continue
		}
		n += s.heldCount
		named = append(named, s.held...)
	}
	switch {
	case n > 0:
		return warned("%s of kinds that no set declares: they have the finalizer %s, and would be stuck in deletion without a controller", count(n, "object"), r.prefix.Finalizer()).about(named...).
			hint("the controller releases them by itself within minutes, if it has the rights: dogear rbac RESOURCE; else see its log, or run 'dogear uninstall'")
	case len(unseen) > 0:
		return skipped("some kinds could not be looked at").about(unseen...).hint("ask as somebody who may list them")
	}
	return passed("none")
}

// everywhere is where Dogear works.
func (r *round) everywhere(ctx context.Context) []string {
	if p, err := r.place(ctx); err == nil && p.confined() {
		return p.settings.namespaces
	}
	return []string{metav1.NamespaceAll}
}

func nameOfKind(kind schema.GroupVersionKind) string {
	return strings.TrimSuffix(kind.Kind+"."+kind.Group, ".")
}
