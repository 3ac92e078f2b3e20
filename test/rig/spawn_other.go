//go:build !linux

package rig

import (
	"os/exec"
	"syscall"
)

// Spawn starts cmd. Only Linux can end it with this process: here a killed
// parent leaves it behind.
func Spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}
