package sets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// reportPeriod is how often counts are brought up to date, and reportPause the
// least time between two rounds.
const (
	reportPeriod = 2 * time.Second
	reportPause  = 200 * time.Millisecond
	fieldOwner   = client.FieldOwner("dogear")
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
			for _, v := range all.sets {
				if err := s.reportOn(ctx, v); err != nil && ctx.Err() == nil {
					s.log.Error(err, "The status of a set cannot be written, will retry", "set", nameOf(v.set))
				}
			}
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
	if err == nil && !equality.Semantic.DeepEqual(v.set.Observed(), next.Observed()) {
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
					h.LastErrorTime = lastErrorTime(v.set, h)
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
func lastErrorTime(set v1alpha1.AnySet, h v1alpha1.HandlerStatus) *metav1.Time {
	for _, before := range set.Observed().Handlers {
		if before.ID == h.ID && before.LastError == h.LastError && before.LastErrorTime != nil {
			return before.LastErrorTime
		}
	}
	now := metav1.Now().Rfc3339Copy()
	return &now
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

// conditions sets the conditions of a set.
func (s *Service) conditions(v *verdict, status *v1alpha1.HandlerSetStatus, removing, left int, cleaningErr error) {
	findings := slices.Clone(v.findings)
	if f, ok := s.endpointsHealthy(v); ok {
		findings = append(findings, f)
	}
	ready, reconciling := s.ready(v)
	if removing > 0 {
		reconciling = &finding{v1alpha1.ConditionReconciling, metav1.ConditionTrue, "Removing",
			fmt.Sprintf("removing what %d handlers have left on objects: %d objects are left", removing, left)}
		if cleaningErr != nil {
			reconciling.message += ": " + cleaningErr.Error()
		}
		if v.set.GetDeletionTimestamp() != nil {
			ready = finding{v1alpha1.ConditionReady, metav1.ConditionFalse, "Deleting", reconciling.message}
		}
	}
	findings = append(slices.DeleteFunc(findings, func(f finding) bool { return f.condition == v1alpha1.ConditionReady }), ready)
	if reconciling != nil {
		findings = append(findings, *reconciling)
	}
	if v.stalled {
		findings = append(findings, finding{v1alpha1.ConditionStalled, metav1.ConditionTrue, ready.reason, ready.message})
	}
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c metav1.Condition) bool {
		return !slices.ContainsFunc(findings, func(f finding) bool { return f.condition == c.Type })
	})
	for _, f := range findings {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: f.condition, Status: f.status, Reason: f.reason, Message: clip(f.message), ObservedGeneration: v.set.GetGeneration(),
		})
	}
}

// maxMessage is what a condition's message may have.
const maxMessage = 32768

func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-3], "") + "..."
}

// byWeight puts first what a person has to mend.
func byWeight(a, b finding) int {
	weight := func(f finding) int {
		return slices.Index([]string{v1alpha1.ConditionPermitted, v1alpha1.ConditionReady}, f.condition)
	}
	return weight(b) - weight(a)
}

// ready tells whether the set is in force as declared.
func (s *Service) ready(v *verdict) (ready finding, reconciling *finding) {
	for _, f := range slices.SortedStableFunc(slices.Values(v.findings), byWeight) {
		if f.condition == v1alpha1.ConditionReady || f.status != metav1.ConditionTrue && (f.condition != v1alpha1.ConditionDefaultsValid || !v.defaults) {
			ready = finding{v1alpha1.ConditionReady, metav1.ConditionFalse, f.reason, f.message}
			if !v.stalled {
				reconciling = &finding{v1alpha1.ConditionReconciling, metav1.ConditionTrue, f.reason, f.message}
			}
			return ready, reconciling
		}
	}
	text := ""
	for i := range v.set.Declared().Handlers {
		if !known(v.set, v.set.Declared().Handlers[i].ID) {
			text = "the handlers are about to come into force"
		}
	}
	if text == "" && v.resource != nil {
		text = s.op.Awaited(v.resource.kind, v1alpha1.HandlerID(v.set, ""))
	}
	if text != "" {
		return finding{v1alpha1.ConditionReady, metav1.ConditionFalse, "Starting", text},
			&finding{v1alpha1.ConditionReconciling, metav1.ConditionTrue, "Starting", text}
	}
	if v.set.Declared().Paused {
		return finding{v1alpha1.ConditionReady, metav1.ConditionTrue, "Paused", "the set is in force, but its handlers are paused"}, nil
	}
	return finding{v1alpha1.ConditionReady, metav1.ConditionTrue, "InForce", "the set is in force"}, nil
}

// endpointsHealthy tells which endpoints are down.
func (s *Service) endpointsHealthy(v *verdict) (finding, bool) {
	if v.set.GetDeletionTimestamp() != nil || len(v.set.Declared().Handlers) == 0 {
		return finding{}, false
	}
	var down []string
	for i := range v.set.Declared().Handlers {
		id := v.set.Declared().Handlers[i].ID
		e := s.endpoints.find(v1alpha1.HandlerID(v.set, id))
		if e == nil {
			continue
		}
		if health := e.Gate().Health(); !health.Down.IsZero() {
			down = append(down, fmt.Sprintf("handler %q: down since %s: %s", id, health.Down.UTC().Format(time.RFC3339), health.LastError))
		}
	}
	if len(down) > 0 {
		return finding{v1alpha1.ConditionEndpointsHealthy, metav1.ConditionFalse, "EndpointDown", strings.Join(down, "; ")}, true
	}
	return finding{v1alpha1.ConditionEndpointsHealthy, metav1.ConditionTrue, "Answering", "no endpoint is down"}, true
}
