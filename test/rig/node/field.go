package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// downward returns what the downward API tells a container: one of the two.
func (w *worker) downward(pod *corev1.Pod, container string, field *corev1.ObjectFieldSelector, amount *corev1.ResourceFieldSelector) (string, error) {
	switch {
	case field != nil:
		return w.field(pod, field.FieldPath)
	case amount != nil:
		return resourceField(pod, container, amount)
	}
	return "", errors.New("a node of processes has no such source")
}

func (w *worker) field(pod *corev1.Pod, path string) (string, error) {
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return lines(pod.Labels), nil
	case "metadata.annotations":
		return lines(pod.Annotations), nil
	case "spec.nodeName":
		return Name, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return w.address, nil // at which it can listen
	case "status.hostIP", "status.hostIPs":
		return w.node.addresses.shown(nodeAddress), nil
	}
	for prefix, from := range map[string]map[string]string{"metadata.labels['": pod.Labels, "metadata.annotations['": pod.Annotations} {
		if key, ok := strings.CutPrefix(path, prefix); ok {
			return from[strings.TrimSuffix(key, "']")], nil
		}
	}
	return "", fmt.Errorf("field %q is not known to a node of processes", path)
}

func lines(pairs map[string]string) string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		fmt.Fprintf(&out, "%s=%q\n", key, pairs[key])
	}
	return out.String()
}

// resourceField returns an amount in units of the divisor, rounded up. A
// container without a limit is limited by the node.
func resourceField(pod *corev1.Pod, container string, ref *corev1.ResourceFieldSelector) (string, error) {
	if ref.ContainerName != "" {
		container = ref.ContainerName
	}
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	kind, name, _ := strings.Cut(ref.Resource, ".")
	known := name == string(corev1.ResourceCPU) || name == string(corev1.ResourceMemory)
	if i < 0 || !known || kind != "limits" && kind != "requests" {
		return "", fmt.Errorf("resource %q of container %q is not known to a node of processes", ref.Resource, container)
	}
	amounts := pod.Spec.Containers[i].Resources
	amount := amounts.Requests[corev1.ResourceName(name)]
	if kind == "limits" {
		amount = amounts.Limits[corev1.ResourceName(name)]
		if amount.IsZero() {
			amount = capacity[corev1.ResourceName(name)]
		}
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	count, unit := amount.Value(), divisor.Value()
	if name == string(corev1.ResourceCPU) {
		count, unit = amount.MilliValue(), divisor.MilliValue()
	}
	return strconv.FormatInt((count+unit-1)/unit, 10), nil
}
