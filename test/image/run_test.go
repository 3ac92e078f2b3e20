//go:build linux

package image

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// The user and group of the image.
const id = 65532

// run runs the program as the image's user in a root of its own, which is read
// only and holds nothing else. Where the machine forbids that, the test is skipped.
func run(t *testing.T, args ...string) string {
	t.Helper()
	program := build(t, runtime.GOARCH)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{
		insideVariable + "=" + strings.Join(args, " "),
		programVariable + "=" + program, rootVariable + "=" + t.TempDir(), "DOGEAR_NAMESPACE=dogear",
	}
	// Outside it is still whoever runs the test. What it needs to make its root it
	// keeps over exec, as its user is not root.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{capSysAdmin, capSysChroot},
	}
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == forbidden:
		t.Skipf("this machine forbids namespaces: %s", problems.String())
	case err != nil && exit == nil:
		t.Skipf("this machine forbids namespaces: %v", err)
	case err != nil:
		t.Fatalf("dogear %s: %v: %s", strings.Join(args, " "), err, problems.String())
	}
	return string(out)
}

func TestTheProgramRunsAlone(t *testing.T) {
	t.Parallel()
	var told struct{ Version, Platform string }
	if err := json.Unmarshal([]byte(run(t, "version", "-o", "json")), &told); err != nil {
		t.Fatal(err)
	}
	if told.Version != version || told.Platform != "linux/"+runtime.GOARCH {
		t.Errorf("it says that it is %s for %s: want %s", told.Version, told.Platform, version)
	}
	for _, roles := range []string{"controller", "webhook"} {
		out := run(t, "run", "--show-settings", "--roles="+roles, "--webhook-service=dogear", "--webhook-controller-users=somebody")
		for _, want := range []string{"roles: [" + roles + "]", "variable DOGEAR_NAMESPACE"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", roles, want, out)
			}
		}
	}
}
