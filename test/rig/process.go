package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
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
// it is ready or ctx ends. One that runs is killed first.
func (p *Process) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.end(syscall.SIGKILL, 0); err != nil {
		return err
	}
	return p.start(ctx)
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

func (p *Process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *Process) start(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := spawn(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		close(done)
	}()
	p.cmd, p.done = cmd, done
	return p.await(ctx, done)
}

func (p *Process) end(sig syscall.Signal, grace time.Duration) error {
	if !p.running() {
		return nil
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.name, err)
	}
	if sig != syscall.SIGKILL {
		select {
		case <-p.done:
			return nil
		case <-time.After(grace):
			_ = p.cmd.Process.Kill() // it may have ended just now
		}
	}
	<-p.done
	return nil
}

// await polls ready. A process that ended tells why in the last lines of its log.
func (p *Process) await(ctx context.Context, done <-chan struct{}) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("%s has ended: %s", p.name, tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; last: %w; log: %s", p.name, ctx.Err(), err, tail(p.log))
		case <-tick.C:
		}
	}
}

// tail returns the last bytes of a log, for an error.
func tail(path string) string {
	const most = 2000
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return string(text)
}
