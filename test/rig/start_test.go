package rig_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// orphanEnv makes the test binary start a control plane and wait to be killed.
const orphanEnv = "DOGEAR_RIG_PARENT"

func beParent() {
	cp, err := rig.Start(context.Background(), rig.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(cp.Dir(), cp.Process(rig.Etcd).PID(), cp.Process(rig.APIServer).PID())
	select {}
}

func TestProcessesDieWithAKilledParent(t *testing.T) {
	rigtest.ControlPlane(t) // fails early without the programs
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	var etcd, apiserver int
	_, scanned := fmt.Fscan(out, &dir, &etcd, &apiserver)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it says "killed"
	if scanned != nil {
		t.Fatal(scanned)
	}
	for _, pid := range []int{etcd, apiserver} {
		rigtest.Eventually(t, 10*time.Second, func() error {
			if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
				return fmt.Errorf("process %d lives on (%v)", pid, err)
			}
			return nil
		})
	}
	startAndStop(t, rig.Options{}) // which also removes what the dead one left
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data of a killed parent is still there: %v", err)
	}
}

func TestTwoControlPlanesAtOnce(t *testing.T) {
	rigtest.ControlPlane(t)
	var both sync.WaitGroup
	planes := make([]*rig.ControlPlane, 2)
	for i := range planes {
		both.Go(func() {
			cp, err := rig.Start(t.Context(), rig.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			planes[i] = cp
		})
	}
	both.Wait()
	for _, cp := range planes {
		if cp != nil {
			defer cp.Stop()
		}
	}
	if t.Failed() {
		return
	}
	if a, b := planes[0], planes[1]; a.URL() == b.URL() || a.EtcdURL() == b.EtcdURL() || a.ServiceRange() == b.ServiceRange() {
		t.Errorf("they share an address: %s %s, %s %s", a.URL(), b.URL(), a.ServiceRange(), b.ServiceRange())
	}
}

func TestStartTriesOtherPortsAndLeavesNothing(t *testing.T) {
	rigtest.ControlPlane(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var log bytes.Buffer
	dir := filepath.Join(t.TempDir(), "new")
	_, err = rig.Start(t.Context(), rig.Options{
		Dir: dir, Log: &log,
		EtcdArgs: []string{"--listen-client-urls=http://" + taken.Addr().String()},
	})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error is %v", err)
	}
	if tries := strings.Count(log.String(), "trying others"); tries != 4 {
		t.Errorf("it tried again %d times:\n%s", tries, &log)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestGivenDirStaysAndMustBeEmpty(t *testing.T) {
	rigtest.ControlPlane(t)
	dir := t.TempDir()
	startAndStop(t, rig.Options{Dir: dir})
	if _, err := os.Stat(filepath.Join(dir, "kube-apiserver.log")); err != nil {
		t.Errorf("log is gone: %v", err)
	}
	if _, err := rig.Start(t.Context(), rig.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "not an empty folder") {
		t.Errorf("used again: %v", err)
	}
}

func startAndStop(t *testing.T, options rig.Options) {
	t.Helper()
	cp, err := rig.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time does nothing
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestMissingProgramsSayWhatToDo(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("DOGEAR_ASSETS", t.TempDir())
	_, start := rig.Start(t.Context(), rig.Options{})
	_, crds := rig.CertManagerCRDs()
	for call, err := range map[string]error{"Start": start, "CertManagerCRDs": crds} {
		if !errors.Is(err, rig.ErrNoAssets) || !strings.Contains(err.Error(), "make controlplane") {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestOutsideTheRepositoryTheAssetsMustBeNamed(t *testing.T) {
	t.Setenv("DOGEAR_ASSETS", "")
	t.Chdir(t.TempDir())
	if _, err := rig.AssetsDir(); !errors.Is(err, rig.ErrNoAssets) || !strings.Contains(err.Error(), "DOGEAR_ASSETS") {
		t.Error(err)
	}
}
