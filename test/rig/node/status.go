package node

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// report writes the status if it differs from what was written last, and tells
// whether the API server has it now.
func (w *worker) report(ctx context.Context, pod *corev1.Pod) bool {
	status := w.status(pod)
	if w.reported != nil && equality.Semantic.DeepEqual(*w.reported, status) {
		return true
	}
	if time.Now().Before(w.writeAt) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	// Others have conditions of their own in it, and the watched one may be old.
	now := &corev1.Pod{}
	err := w.node.admin.Get(ctx, w.id, now)
	if err == nil && now.UID == w.uid {
		merge(&now.Status, status)
		err = w.node.admin.Status().Update(ctx, now)
	}
	if err != nil {
		if client.IgnoreNotFound(err) != nil {
			w.node.log.Printf("status of %s: %v", w.id, err)
		}
		w.writeAt = time.Now().Add(retryAfter)
		return false
	}
	w.reported = &status
	return true
}

// merge puts the worker's part into a status.
func merge(status *corev1.PodStatus, own corev1.PodStatus) {
	for _, condition := range own.Conditions {
		i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
		condition.LastTransitionTime = metav1.Now()
		if i < 0 {
			status.Conditions = append(status.Conditions, condition)
			continue
		}
		if status.Conditions[i].Status == condition.Status {
			condition.LastTransitionTime = status.Conditions[i].LastTransitionTime
		}
		status.Conditions[i] = condition
	}
	own.Conditions, own.QOSClass = status.Conditions, status.QOSClass
	own.ObservedGeneration, own.NominatedNodeName = status.ObservedGeneration, status.NominatedNodeName
	*status = own
}

// status is what the worker knows of the Pod. Times of conditions are left to
// merge.
func (w *worker) status(pod *corev1.Pod) corev1.PodStatus {
	node := w.node.addresses.shown(nodeAddress)
	status := corev1.PodStatus{
		StartTime: &w.since, HostIP: node, HostIPs: []corev1.HostIP{{IP: node}},
		PodIP: w.shown, PodIPs: []corev1.PodIP{{IP: w.shown}},
	}
	allReady, notReady := corev1.ConditionTrue, ""
	for _, c := range w.containers {
		one := corev1.ContainerStatus{
			Name: c.spec.Name, Image: c.spec.Image, ImageID: c.spec.Image, Started: new(false),
			RestartCount: c.restarts, State: c.state, LastTerminationState: c.last,
		}
		if p := c.process.Load(); p != nil {
			h := p.health.Load()
			*one.Started, one.Ready, one.ContainerID = h.started, h.ready, p.id()
		}
		if !one.Ready {
			allReady, notReady = corev1.ConditionFalse, "ContainersNotReady"
		}
		status.ContainerStatuses = append(status.ContainerStatuses, one)
	}
	status.Phase = w.phase(pod)
	if status.Phase == corev1.PodSucceeded {
		notReady = "PodCompleted"
	}
	status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: allReady, Reason: notReady},
		{Type: corev1.PodReady, Status: allReady, Reason: notReady},
	}
	return status
}

func (w *worker) phase(pod *corev1.Pod) corev1.PodPhase {
	waiting, over, failed := false, true, false
	for _, c := range w.containers {
		waiting = waiting || c.state.Waiting != nil && c.last.Terminated == nil
		over = over && (c.state.Terminated != nil || pod.DeletionTimestamp != nil && c.process.Load() == nil)
		failed = failed || c.state.Terminated == nil || c.state.Terminated.ExitCode != 0
	}
	switch {
	case over && failed:
		return corev1.PodFailed
	case over:
		return corev1.PodSucceeded
	case waiting:
		return corev1.PodPending
	}
	return corev1.PodRunning
}
