package sets

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// reportPeriod is how often counts are brought up to date, and reportPause the
// least time between two rounds.
const (
	reportPeriod = 2 * time.Second
	reportPause  = 200 * time.Millisecond
	// reportWriters is how many sets are brought up to date at the same time.
	reportWriters = 4
	fieldOwner    = client.FieldOwner("dogear")
)

// report keeps the status of all sets, and their finalizer, until ctx ends. It
// runs in the leader alone.
func (s *Service) report(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.synced:
		case <-s.clock.After(reportPeriod):
		}
		if all := s.judged.Load(); all != nil {
			var group errgroup.Group
			group.SetLimit(reportWriters)
			for _, v := range all.sets {
				group.Go(func() error {
					if err := s.reportOn(ctx, v); err != nil && ctx.Err() == nil {
						s.log.Error(err, "The status of a set cannot be written, will retry", "set", nameOf(v.set))
					}
					return nil
				})
			}
			_ = group.Wait() // they have told
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.clock.After(reportPause):
		}
	}
}

// reportOn brings one set up to date. A conflict is left to the next round,
// which sees the set as it is by then.
func (s *Service) reportOn(ctx context.Context, v *verdict) error {
	if v.set.GetDeletionTimestamp() != nil && !slices.Contains(v.set.GetFinalizers(), Cleanup) {
		return nil
	}
	next := v.set.DeepCopyObject().(v1alpha1.AnySet)
	s.fill(v, next.Observed())
	err := s.hold(ctx, v, next)
	gone := v.set.GetDeletionTimestamp() != nil && len(v.set.GetFinalizers()) == 0
	if err == nil && !gone && !equality.Semantic.DeepEqual(v.set.Observed(), next.Observed()) {
		patch := client.MergeFromWithOptions(v.set.DeepCopyObject().(client.Object), client.MergeFromWithOptimisticLock{})
		status := v.set.DeepCopyObject().(v1alpha1.AnySet)
		*status.Observed() = *next.Observed()
		err = s.client.Status().Patch(ctx, status.(client.Object), patch, fieldOwner)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// hold sets the finalizer of a set with handlers, and drops it when nothing of
// them is left.
func (s *Service) hold(ctx context.Context, v *verdict, next v1alpha1.AnySet) error {
	finalizers := v.set.GetFinalizers()
	held := slices.Contains(finalizers, Cleanup)
	needed := len(next.Observed().Handlers) > 0
	switch {
	case needed && !held && v.set.GetDeletionTimestamp() == nil:
		finalizers = append(slices.Clone(finalizers), Cleanup)
	case !needed && held:
		finalizers = slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == Cleanup })
	default:
		return nil
	}
	changed := v.set.DeepCopyObject().(v1alpha1.AnySet)
	before := v.set.DeepCopyObject().(client.Object)
	changed.SetFinalizers(finalizers)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.client.Patch(ctx, changed.(client.Object), patch, fieldOwner); err != nil {
		return err
	}
	v.set.SetResourceVersion(changed.GetResourceVersion()) // of the copy from the cache
	v.set.SetFinalizers(changed.GetFinalizers())
	return nil
}

// fill makes the status of a set.
func (s *Service) fill(v *verdict, status *v1alpha1.HandlerSetStatus) {
	status.ObservedGeneration = v.set.GetGeneration()
	left, cleaned, cleaningErr := s.cleaned(v)
	status.Handlers = s.handlerStatuses(v, left, cleaned)
	status.Counts = s.counts(v1alpha1.HandlerID(v.set, ""))
	removing := 0
	for _, h := range status.Handlers {
		if h.Phase == v1alpha1.HandlerRemoving {
			removing++
		}
	}
	s.conditions(v, status, removing, left, cleaningErr)
}

// cleaned tells how far the removal of handlers has come.
func (s *Service) cleaned(v *verdict) (left int, done bool, err error) {
	switch {
	case len(v.removing) == 0:
		return 0, true, nil
	case v.undeclared != nil: // the engine removes something else
		return 0, false, v.undeclared
	case v.resource == nil:
		return 0, v.unserved, nil // no resource, no objects
	}
	return s.op.Cleaned(v.resource.kind)
}

func (s *Service) handlerStatuses(v *verdict, left int, cleaned bool) (out []v1alpha1.HandlerStatus) {
	if v.set.GetDeletionTimestamp() == nil {
		for i := range v.set.Declared().Handlers {
			id := v.set.Declared().Handlers[i].ID
			if !v.usable && !listed(v.set, id) {
				continue // it has left nothing anywhere
			}
			full := v1alpha1.HandlerID(v.set, id)
			h := v1alpha1.HandlerStatus{ID: id, Phase: v1alpha1.HandlerActive, Counts: s.counts(full)}
			if e := s.endpoints.find(full); e != nil {
				health := e.Gate().Health()
				if h.LastError = health.LastError; h.LastError != "" {
					h.LastErrorTime = s.lastErrorTime(v.set, h)
				}
			}
			out = append(out, h)
		}
	}
	if cleaned {
		return out
	}
	for _, id := range v.removing {
		out = append(out, v1alpha1.HandlerStatus{ID: id, Phase: v1alpha1.HandlerRemoving, Remaining: int64(left)})
	}
	return out
}

// lastErrorTime is when an error was first seen that is still the last one.
func (s *Service) lastErrorTime(set v1alpha1.AnySet, h v1alpha1.HandlerStatus) *metav1.Time {
	for _, before := range set.Observed().Handlers {
		if before.ID == h.ID && before.LastError == h.LastError && before.LastErrorTime != nil {
			return before.LastErrorTime
		}
	}
	return new(metav1.NewTime(s.clock.Now()).Rfc3339Copy())
}

func (s *Service) counts(id string) v1alpha1.Counts {
	n := s.op.Counts(id)
	c := v1alpha1.Counts{
		Objects: int64(n.Pending + n.Waiting + n.Retrying + n.Failed + n.Succeeded),
		Pending: int64(n.Pending), Waiting: int64(n.Waiting), Retrying: int64(n.Retrying), Failed: int64(n.Failed),
		Blocked: int64(n.Blocked),
	}
	c.Failing = c.Retrying + c.Failed + c.Blocked
	return c
}
