package rig_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		beParent()
	}
	rigtest.Main(m, rigtest.WithControllerManager())
}

// configMap makes one in a namespace of the test's own.
func configMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: rigtest.Namespace(t), Name: "it"}}
	if err := rigtest.Client(t).Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestVersionIsThePinnedOne(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		t.Skip("KUBEBUILDER_ASSETS has its own version")
	}
	version, err := discovery.NewDiscoveryClientForConfigOrDie(rigtest.ControlPlane(t).AdminConfig()).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.37.2" || version.Major != "1" || version.Minor != "37" {
		t.Errorf("version is %+v", version)
	}
}

func TestRestartKeepsPortAndData(t *testing.T) {
	for _, name := range []rig.Name{rig.APIServer, rig.Etcd, rig.ControllerManager} {
		t.Run(string(name), func(t *testing.T) {
			cp, before := rigtest.ControlPlane(t), configMap(t)
			process, url := cp.Process(name), cp.URL()
			pid := process.PID()
			if err := process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, 0); err != syscall.ESRCH || process.PID() != 0 {
				t.Fatalf("after Kill, process %d: %v; PID() is %d", pid, err, process.PID())
			}
			if err := process.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if process.PID() == pid || cp.URL() != url {
				t.Errorf("pid %d -> %d, address %s -> %s", pid, process.PID(), url, cp.URL())
			}
			after := &corev1.ConfigMap{}
			rigtest.Eventually(t, 20*time.Second, func() error {
				return rigtest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(before), after)
			})
			if after.UID != before.UID {
				t.Errorf("uid was %s, is %s", before.UID, after.UID)
			}
		})
	}
}

func TestPausedServerAnswersOnceResumed(t *testing.T) {
	for _, name := range []rig.Name{rig.APIServer, rig.Etcd} {
		t.Run(string(name), func(t *testing.T) {
			object, admin := configMap(t), rigtest.Client(t)
			process := rigtest.ControlPlane(t).Process(name)
			if err := process.Pause(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if err := admin.Get(ctx, client.ObjectKeyFromObject(object), object); err == nil {
				t.Error("a paused server has answered")
			}
			if err := process.Resume(); err != nil {
				t.Fatal(err)
			}
			rigtest.Eventually(t, 20*time.Second, func() error {
				return admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			})
		})
	}
}

func TestSignalsNeedARunningProcess(t *testing.T) {
	process := rigtest.ControlPlane(t).Process(rig.ControllerManager)
	if err := process.Terminate(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	for call, do := range map[string]func() error{"Pause": process.Pause, "Resume": process.Resume} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "does not run") {
			t.Errorf("%s of an ended process: %v", call, err)
		}
	}
	if err := process.Kill(); err != nil {
		t.Errorf("Kill of an ended process: %v", err)
	}
	if err := process.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestControllerManagerEmptiesNamespacesAndCollectsOrphans(t *testing.T) {
	owner, admin := configMap(t), rigtest.Client(t)
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: owner.Namespace, Name: "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}}
	if err := admin.Create(t.Context(), owned); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	gone(t, owned)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: owner.Namespace}}
	if err := admin.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	gone(t, namespace)
}

func gone(t *testing.T, object client.Object) {
	t.Helper()
	rigtest.Eventually(t, 30*time.Second, func() error {
		err := rigtest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%s is still there (%v)", object.GetName(), err)
	})
}

func TestServiceGetsALoopbackAddressThatCanBeListenedOn(t *testing.T) {
	cp := rigtest.ControlPlane(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: rigtest.Namespace(t), Name: "hook"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}
	if err := rigtest.Client(t).Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	_, network, err := net.ParseCIDR(cp.ServiceRange())
	if err != nil {
		t.Fatal(err)
	}
	if ip := net.ParseIP(service.Spec.ClusterIP); !network.Contains(ip) || !ip.IsLoopback() {
		t.Fatalf("ClusterIP %s is not in %s", ip, network)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(service.Spec.ClusterIP, "0"))
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}
