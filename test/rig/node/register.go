package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// capacity is what the node says that it has; no process is held to it.
var capacity = corev1.ResourceList{
	corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("250"),
}

// register makes the Node: controllers look Pods' nodes up.
func (n *Node) register(ctx context.Context) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: map[string]string{
		corev1.LabelHostname: Name, corev1.LabelOSStable: "linux",
	}}}
	if err := n.admin.Create(ctx, node); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	node.Status = corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.addresses.shown(nodeAddress)}},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Started", LastTransitionTime: metav1.Now()}},
	}
	if err := n.admin.Status().Update(ctx, node); err != nil {
		return err
	}
	// The API server adds a taint to new nodes, which a node that is ready loses.
	node.Spec.Taints = nil
	return n.admin.Update(ctx, node)
}

// bind puts a Pod on the node, whatever it asks of one: there is no other.
func (n *Node) bind(pod *corev1.Pod) {
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, requestLimit)
		err := n.admin.SubResource("binding").Create(ctx, pod.DeepCopy(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: Name},
		})
		cancel()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return // bound, by us before, or gone
		}
		n.log.Printf("bind %s/%s: %v", pod.Namespace, pod.Name, err)
		select {
		case <-n.ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}
