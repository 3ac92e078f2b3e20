package rig

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		// Pdeathsig fires when the thread that started the child ends, not the
		// process: so one thread starts all children, and is never given back.
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

// Spawn starts cmd so that it dies with this process, even by SIGKILL, and is
// not reached by a Ctrl-C in the terminal: the rig stops it in order.
func Spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	spawner() <- func() { started <- cmd.Start() }
	return <-started
}
