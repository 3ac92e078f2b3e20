package node_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// lastExit waits for the n-th end of a Pod's process.
func lastExit(t *testing.T, pod *corev1.Pod, n int) (code int) {
	t.Helper()
	rigtest.Eventually(t, patience, func() error {
		exits := exitsOf(pod.Namespace, pod.Name)
		if len(exits) < n {
			return fmt.Errorf("exits are %v", exits)
		}
		code = exits[n-1].Code
		return nil
	})
	return code
}

func remove(t *testing.T, object client.Object, options ...client.DeleteOption) {
	t.Helper()
	if err := rigtest.Client(t).Delete(t.Context(), object, options...); err != nil {
		t.Fatal(err)
	}
}

func TestDeletedPodEndsBySIGTERM(t *testing.T) {
	pod := until(t, run(t, server()), "ready", isReady)
	p := process(t, pod)
	remove(t, pod)
	gone(t, pod)
	if err := syscall.Kill(p.PID(), 0); err != syscall.ESRCH {
		t.Errorf("the Pod is gone, and its process is not: %v", err)
	}
	if code := lastExit(t, pod, 1); code != 0 {
		t.Errorf("its code is %d", code)
	}
}

func TestStubbornProcessIsKilledAfterTheGracePeriod(t *testing.T) {
	spec := podSpec("stubborn")
	spec.TerminationGracePeriodSeconds = new(int64(1))
	pod := run(t, spec)
	process(t, pod)
	rigtest.Eventually(t, patience, func() error {
		text, err := os.ReadFile(theNode(t).Log(pod.Namespace, pod.Name, "app"))
		if err == nil && !strings.Contains(string(text), "stubborn") {
			err = fmt.Errorf("it does not ignore signals yet")
		}
		return err
	})
	begin := time.Now()
	remove(t, pod)
	gone(t, pod)
	if took := time.Since(begin); took < time.Second {
		t.Errorf("killed after %v", took)
	}
	if code := lastExit(t, pod, 1); code != 128+int(syscall.SIGKILL) {
		t.Errorf("its code is %d", code)
	}
}

func TestForcedDeletionKills(t *testing.T) {
	pod := run(t, podSpec("stubborn"))
	p := process(t, pod)
	remove(t, pod, client.GracePeriodSeconds(0))
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Error("it lives on")
	}
}

func TestKilledProcessIsStartedAgain(t *testing.T) {
	spec := server()
	spec.RestartPolicy = corev1.RestartPolicyAlways
	pod := until(t, run(t, spec), "ready", isReady)
	old := process(t, pod)
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, pod, "ready after a restart", func(pod *corev1.Pod) bool {
		return isReady(pod) && pod.Status.ContainerStatuses[0].RestartCount == 1
	})
	if last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 137 {
		t.Errorf("how it ended is %v", last)
	}
	if p := process(t, pod); p.PID() == old.PID() {
		t.Error("it is the same process")
	}
	if err := old.Signal(syscall.SIGTERM); err == nil || !strings.Contains(err.Error(), pod.Namespace+"/it") {
		t.Errorf("a signal to one that has ended: %v", err)
	}
}

func TestOnFailureRestartsUntilSuccess(t *testing.T) {
	spec := podSpec("exit", "4", "/messages/end", "no luck")
	spec.RestartPolicy = corev1.RestartPolicyOnFailure
	spec.Containers[0].TerminationMessagePath = "/messages/end"
	pod := until(t, run(t, spec), "restarted", func(pod *corev1.Pod) bool {
		return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount >= 2
	})
	last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 4 || last.Message != "no luck" || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("phase %s, last %v", pod.Status.Phase, last)
	}
	remove(t, pod)
	gone(t, pod)
}

func TestPausedProcessIsNotReadyAndNotRestarted(t *testing.T) {
	spec := server()
	probe := spec.Containers[0].ReadinessProbe.DeepCopy()
	spec.Containers[0].LivenessProbe = probe // which would end it
	pod := until(t, run(t, spec), "ready", isReady)
	p := process(t, pod)
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	until(t, pod, "unready", func(pod *corev1.Pod) bool { return !isReady(pod) })
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	until(t, pod, "ready again", isReady)
	if pod.Status.ContainerStatuses[0].RestartCount != 0 || p.Ended() {
		t.Error("it was restarted")
	}
}

func TestStartupProbeHoldsBackReadinessAndGivesUp(t *testing.T) {
	spec := server()
	spec.RestartPolicy = corev1.RestartPolicyAlways
	c := &spec.Containers[0]
	c.StartupProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8081)}},
		PeriodSeconds: 1, FailureThreshold: 1,
	}
	pod := until(t, run(t, spec), "restarted", func(pod *corev1.Pod) bool {
		return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount > 0
	})
	if status := pod.Status.ContainerStatuses[0]; isReady(pod) || *status.Started {
		t.Errorf("status is %v", status)
	}
	remove(t, pod)
	gone(t, pod)
}
