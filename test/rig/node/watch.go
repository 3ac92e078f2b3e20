package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	requestLimit = 3 * time.Second        // of one request to the API server
	retryAfter   = 250 * time.Millisecond // until what failed is tried again
)

// watch follows Pods, Services and EndpointSlices.
func (n *Node) watch(ctx context.Context) error {
	for object, handler := range map[client.Object]toolscache.ResourceEventHandler{
		&corev1.Pod{}:                toolscache.ResourceEventHandlerFuncs{AddFunc: n.added, UpdateFunc: func(_, now any) { n.added(now) }, DeleteFunc: n.deleted},
		&corev1.Service{}:            n.proxy,
		&discoveryv1.EndpointSlice{}: n.proxy,
	} {
		informer, err := n.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	n.running.Go(func() {
		if err := n.cache.Start(n.ctx); err != nil {
			n.log.Printf("watch: %v", err)
		}
	})
	if !n.cache.WaitForCacheSync(ctx) {
		return errors.Join(fmt.Errorf("wait for Pods and Services: %w", context.Cause(ctx)), n.Stop())
	}
	n.running.Go(n.proxy.run)
	return nil
}

func (n *Node) added(object any) {
	pod := object.(*corev1.Pod)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return
	}
	if pod.Spec.NodeName == "" {
		if pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 {
			n.running.Go(func() { n.bind(pod) })
		}
		return
	}
	w := n.workers[pod.UID]
	if w == nil {
		if pod.Spec.NodeName != Name || finished(pod) {
			return
		}
		number, err := n.addresses.take()
		if err != nil {
			n.log.Printf("run %s/%s: %v", pod.Namespace, pod.Name, err)
			return
		}
		w = newWorker(n, pod, number)
		n.workers[pod.UID] = w
		n.running.Go(func() {
			w.run()
			n.mu.Lock()
			defer n.mu.Unlock()
			n.addresses.give(number)
			delete(n.workers, pod.UID)
		})
	}
	w.update(pod)
}

func (n *Node) deleted(object any) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	pod := object.(*corev1.Pod)
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.workers[pod.UID]; w != nil {
		w.update(nil)
	}
}

func finished(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
}
