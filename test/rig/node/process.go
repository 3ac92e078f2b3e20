package node

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dogear-dev/dogear/test/rig"
)

// A Process is that of a container from one start to its end.
type Process struct {
	Namespace, Pod, Container string

	cmd     *exec.Cmd
	started time.Time
	done    chan struct{} // closed once exit is set
	exit    Exit
	health  atomic.Pointer[health]
}

// An Exit is the end of a container's process.
type Exit struct {
	Namespace, Pod, Container string
	PID                       int
	Code                      int            // 128 + Signal if a signal ended it
	Signal                    syscall.Signal // 0 if none did
	Time                      time.Time
}

// PID returns the id of the process, also after its end.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal. It is an error if the process has ended.
func (p *Process) Signal(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("send %v to %s of %s/%s: %w", signal, p.Container, p.Namespace, p.Pod, err)
	}
	return nil
}

// Kill ends the process with SIGKILL, paused or not. The node restarts it if
// the Pod says so.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }

// Pause stops the process with SIGSTOP, until Resume.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *Process) id() string { return fmt.Sprintf("process://%d", p.PID()) }

// A command is a process to be.
type command struct {
	path   string
	args   []string // with the name of the program
	env    []string
	folder string
}

// launch starts the process of a container.
func (n *Node) launch(pod *corev1.Pod, c *container, what command) (*Process, error) {
	out, err := os.OpenFile(n.Log(pod.Namespace, pod.Name, c.spec.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if info, err := out.Stat(); err == nil {
		c.logged = info.Size()
	}
	cmd := &exec.Cmd{Path: what.path, Args: what.args, Env: what.env, Dir: what.folder, Stdout: out, Stderr: out}
	p := &Process{Namespace: pod.Namespace, Pod: pod.Name, Container: c.spec.Name, cmd: cmd, started: time.Now(), done: make(chan struct{})}
	if err := rig.Spawn(cmd); err != nil {
		return nil, err
	}
	n.log.Printf("%s of %s/%s runs as process %d", p.Container, p.Namespace, p.Pod, p.PID())
	n.running.Go(func() { // the worker, which counts as running too, waits for this
		_ = cmd.Wait() // how it ended is in ProcessState
		p.exit = Exit{
			Namespace: p.Namespace, Pod: p.Pod, Container: p.Container,
			PID: p.PID(), Code: cmd.ProcessState.ExitCode(), Time: time.Now(),
		}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			p.exit.Signal = status.Signal()
			p.exit.Code = 128 + int(p.exit.Signal)
		}
		close(p.done)
		n.log.Printf("%s of %s/%s has ended with code %d", p.Container, p.Namespace, p.Pod, p.exit.Code)
		c.worker.poke()
		if n.options.OnExit != nil {
			n.options.OnExit(p.exit)
		}
	})
	return p, nil
}
