package node

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// unusable is why a container cannot start, with the reason that its status
// shows.
type unusable struct {
	reason string
	err    error
}

func (u *unusable) Error() string { return u.err.Error() }
func (u *unusable) Unwrap() error { return u.err }

// supported refuses what a node of processes cannot do, rather than to do
// something else.
func supported(pod *corev1.Pod, c *corev1.Container) error {
	var errs []error
	no := func(found bool, what string) {
		if found {
			errs = append(errs, fmt.Errorf("a node of processes has no %s", what))
		}
	}
	no(len(pod.Spec.InitContainers) > 0, "init containers")
	no(pod.Spec.HostNetwork, "hostNetwork")
	for name, probe := range map[string]*corev1.Probe{"readinessProbe": c.ReadinessProbe, "startupProbe": c.StartupProbe} {
		no(probe != nil && (probe.Exec != nil || probe.GRPC != nil), name+" but httpGet and tcpSocket")
	}
	if hooks := c.Lifecycle; hooks != nil {
		no(hooks.PostStart != nil, "postStart")
		no(hooks.PreStop != nil && hooks.PreStop.Sleep == nil, "preStop but sleep")
	}
	if len(errs) > 0 {
		return &unusable{reason: "Unsupported", err: errors.Join(errs...)}
	}
	return nil
}
