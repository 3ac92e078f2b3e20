package node_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/node"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestPodsOutliveTheAPIServer(t *testing.T) {
	namespace := newNamespace(t)
	pod := until(t, run(t, server(), namespace), "ready", isReady)
	p := process(t, pod)
	server := rigtest.ControlPlane(t).Process(rig.APIServer)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t.Context(), node.Address(pod)+":8080", "/pid"); err != nil {
		t.Errorf("while there is no API server: %v", err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "later"}, Spec: podSpec("exit", "0")}
	create(t, later)
	until(t, later, "done", hasPhase(corev1.PodSucceeded))
	if p.Ended() || !isReady(until(t, pod, "there", func(*corev1.Pod) bool { return true })) {
		t.Error("the Pod that was there did not stay as it was")
	}
}

// beNode runs a Pod on a control plane of its own, stops the node in order and
// starts another, says which processes the Pod had, and waits to be killed.
func beNode() error {
	ctx := context.Background()
	cp, err := rig.Start(ctx, rig.Options{}) // no controller is needed for a Pod
	if err != nil {
		return err
	}
	admin, err := cp.Client()
	if err != nil {
		return err
	}
	spec := podSpec("stubborn")
	spec.AutomountServiceAccountToken = new(false)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "it"}, Spec: spec}
	if err := admin.Create(ctx, pod); err != nil {
		return err
	}
	fmt.Println(cp.Dir())
	for _, stop := range []bool{true, false} {
		n, err := node.Start(ctx, cp, node.Options{Images: map[string]string{image: os.Args[0]}})
		if err != nil {
			return err
		}
		p, err := n.Process(pod, "app")
		for ; err != nil; p, err = n.Process(pod, "app") {
			time.Sleep(10 * time.Millisecond)
		}
		if stop {
			if err := n.Stop(); err != nil || !p.Ended() {
				return fmt.Errorf("after Stop: %w, ended: %v", err, p.Ended())
			}
		}
		fmt.Println(p.PID())
	}
	select {}
}

func TestProcessesEndWithTheirNode(t *testing.T) {
	rigtest.ControlPlane(t) // fails early without the programs
	parent := exec.Command(os.Args[0], "app", "node")
	parent.Stderr = t.Output()
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	var stopped, killed int
	_, err = fmt.Fscan(out, &dir, &stopped, &killed)
	_ = parent.Process.Kill() // it has ended if there is an error
	_ = parent.Wait()         // it says "killed"
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(dir)
	for _, pid := range []int{stopped, killed} {
		rigtest.Eventually(t, patience, func() error {
			if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
				return fmt.Errorf("process %d lives on (%v)", pid, err)
			}
			return nil
		})
	}
}
