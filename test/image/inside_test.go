//go:build linux

package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// The test's own program runs itself in a user and a mount namespace: these tell
// it that it does, and with which program and folder.
const (
	insideVariable  = "IMAGE_TEST_ARGS"
	programVariable = "IMAGE_TEST_PROGRAM"
	rootVariable    = "IMAGE_TEST_ROOT"
)

// Exit codes of what runs inside.
const (
	forbidden = 40 // the machine does not allow what is needed
	wrong     = 41 // the root is not as it should be
)

// Capabilities, and what prctl calls those that are kept over exec.
const (
	capSysChroot, capSysAdmin          = 18, 21
	prCapAmbient, prCapAmbientClearAll = 47, 4
)

// inside makes the root and becomes the program; it returns only if that fails.
func inside(args []string) int {
	runtime.LockOSThread() // capabilities are a thread's
	root := os.Getenv(rootVariable)
	if err := enclose(root, os.Getenv(programVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return forbidden
	}
	if err := enclosed(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return wrong
	}
	if _, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClearAll, 0); failed != 0 {
		fmt.Fprintln(os.Stderr, "give capabilities back:", failed)
		return wrong
	}
	err := syscall.Exec("/dogear", append([]string{"dogear"}, args...), []string{"DOGEAR_NAMESPACE=" + os.Getenv("DOGEAR_NAMESPACE")})
	fmt.Fprintln(os.Stderr, "exec:", err)
	return wrong
}

// enclose makes a file system with nothing but the program the root.
func enclose(root, program string) error {
	content, err := os.ReadFile(program) //nolint:gosec // it was built for that
	if err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"keep mounts to this process", func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") }},
		{"mount the root", func() error { return syscall.Mount("tmpfs", root, "tmpfs", 0, "mode=0755") }},
		{"copy the program", func() error { return os.WriteFile(filepath.Join(root, "dogear"), content, 0o755) }}, //nolint:gosec // it is to be run
		{"make the root read only", func() error { return syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "") }},
		{"change the root", func() error { return errors.Join(syscall.Chroot(root), os.Chdir("/")) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// enclosed tells whether all is as the chart has it in a Pod.
func enclosed() error {
	if os.Getuid() != id || os.Getgid() != id {
		return fmt.Errorf("the user is %d:%d", os.Getuid(), os.Getgid())
	}
	if err := os.WriteFile("/file", nil, 0o600); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("the root can be written to: %w", err)
	}
	entries, err := os.ReadDir("/")
	if err != nil || len(entries) != 1 {
		return fmt.Errorf("the root has %v: %w", entries, err)
	}
	return nil
}
