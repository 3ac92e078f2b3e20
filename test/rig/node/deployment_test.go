package node_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dogear-dev/dogear/test/rig/node"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestDeploymentIsReachedByItsServiceWhileReady(t *testing.T) {
	namespace := newNamespace(t)
	theNode(t)
	d, s := deployment(namespace, 2, server())
	create(t, d, s)
	until(t, d, "rolled out", rolledOut)
	address := net.JoinHostPort(s.Spec.ClusterIP, "8080")
	pids := map[string]bool{}
	rigtest.Eventually(t, patience, func() error {
		pid, err := get(t.Context(), address, "/pid")
		pids[pid] = true
		if err == nil && len(pids) < 2 {
			err = errors.New("one Pod alone answers")
		}
		return err
	})
	pods, err := theNode(t).Pods(t.Context(), namespace, "app=it")
	if err != nil || len(pods) != 2 {
		t.Fatalf("%d Pods, %v", len(pods), err)
	}
	for _, pod := range pods {
		if _, err := get(t.Context(), node.Address(&pod)+":8080", "/pid"); err != nil {
			t.Error(err)
		}
	}
	d.Spec.Replicas = new(int32(0))
	if err := rigtest.Client(t).Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	rigtest.Eventually(t, patience, func() error {
		if _, err := get(t.Context(), address, "/pid"); !errors.Is(err, syscall.ECONNREFUSED) {
			return errors.Join(errors.New("not refused"), err)
		}
		return nil
	})
	for _, pod := range pods {
		gone(t, &pod)
	}
}

func TestRollingUpdateRefusesNoConnection(t *testing.T) {
	namespace := newNamespace(t)
	theNode(t)
	spec := server()
	spec.Containers[0].Env = []corev1.EnvVar{{Name: "VERSION", Value: "1"}}
	spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}}
	d, s := deployment(namespace, 2, spec)
	create(t, d, s)
	until(t, d, "rolled out", rolledOut)
	address := net.JoinHostPort(s.Spec.ClusterIP, "8080")
	rigtest.Eventually(t, patience, func() error {
		_, err := get(t.Context(), address, "/version")
		return err
	})

	ctx, cancel := context.WithCancel(t.Context())
	versions := map[string]int{}
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			version, err := get(t.Context(), address, "/version")
			if err != nil {
				t.Errorf("after %v: %v", versions, err)
				return
			}
			versions[version]++
		}
	})
	d.Spec.Template.Spec.Containers[0].Env[0].Value = "2"
	if err := rigtest.Client(t).Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	until(t, d, "rolled out", rolledOut)
	rigtest.Eventually(t, patience, func() error {
		pods, err := theNode(t).Pods(t.Context(), namespace, "app=it")
		if err == nil && len(pods) > 2 {
			err = errors.New("old Pods are there")
		}
		return err
	})
	cancel()
	asking.Wait()
	if versions["1"] == 0 || versions["2"] == 0 {
		t.Errorf("answers by version: %v", versions)
	}
}
