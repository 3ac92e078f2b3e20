package rig

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Name names a process of the control plane.
type Name string

// The processes of a control plane.
const (
	Etcd              Name = "etcd"
	APIServer         Name = "kube-apiserver"
	ControllerManager Name = "kube-controller-manager"
)

// poll is the time between two looks at something that is waited for.
const poll = 25 * time.Millisecond

// A Process is one program of the control plane. Its methods may be called
// from several goroutines.
type Process struct {
	name  Name
	path  string
	args  []string
	log   string
	ready func(context.Context) error

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed once cmd has ended and was waited for
}

func newProcess(name Name, dir string, args []string, ready func(context.Context) error) (*Process, error) {
	path, err := Binary(string(name))
	if err != nil {
		return nil, err
	}
	return &Process{name: name, path: path, args: args, log: filepath.Join(dir, string(name)+".log"), ready: ready}, nil
}

// LogPath returns the file that holds what the process has printed, over all
// of its restarts.
func (p *Process) LogPath() string { return p.log }

// PID returns the id of the process, 0 if it does not run.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return 0
	}
	return p.cmd.Process.Pid
}

// Kill ends the process with SIGKILL, paused or not, and waits until it is
// gone. It does nothing to one that has ended.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end(syscall.SIGKILL, 0)
}

// Terminate asks the process to end with SIGTERM and waits for it, at most
// for grace; then it kills it.
func (p *Process) Terminate(grace time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end(syscall.SIGTERM, grace)
}

// Pause stops the process with SIGSTOP: its connections stay open, and no
// answer comes.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// Restart starts the process again on the same port and data, and waits until
// it is ready or ctx ends. One that runs is killed first. While it waits, the
// process can be killed or paused.
func (p *Process) Restart(ctx context.Context) error {
	done, err := p.start()
	if err != nil {
		return err
	}
	return p.await(ctx, done)
}

// WaitReady waits until the process answers as ready. It fails at once when
// the process has ended, and when ctx ends, with the last reason.
func (p *Process) WaitReady(ctx context.Context) error {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	return p.await(ctx, done)
}

func (p *Process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return fmt.Errorf("send %s to %s: it does not run", sig, p.name)
	}
	return p.cmd.Process.Signal(sig)
}
