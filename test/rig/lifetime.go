package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

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

// start starts the process anew and does not wait for it.
func (p *Process) start() (done chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.end(syscall.SIGKILL, 0); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := Spawn(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	done = make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		close(done)
	}()
	p.cmd, p.done = cmd, done
	return done, nil
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
