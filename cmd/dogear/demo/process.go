package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// processGrace is how long a process may take to end.
const processGrace = 5 * time.Second

// process is one of the demo's, beside those of the control plane.
type process struct {
	name, log string
	cmd       *exec.Cmd
	lifeline  io.Closer // its end ends the process, however this one ends
	done      chan struct{}
}

const (
	// HookCommand is the hidden subcommand that runs an endpoint.
	HookCommand = "demo-hook"
	// KeyVariable has the key of an endpoint.
	KeyVariable = "DOGEAR_DEMO_KEY"
	// LifelineVariable has a process end with its standard input, if it is set.
	LifelineVariable = "DOGEAR_DEMO_LIFELINE"
)

// spawn runs the own program again. died is called if it ends before it is
// told to.
func (d *demo) spawn(name, log string, environment, args []string, died context.CancelCauseFunc) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the own program: %w", err)
	}
	p := &process{name: name, log: filepath.Join(d.dir, log), done: make(chan struct{})}
	file, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	defer func() { _ = file.Close() }()    // the process has its own
	p.cmd = exec.Command(program, args...) //nolint:gosec // the own program
	p.cmd.Env = append(os.Environ(), append(environment, LifelineVariable+"=1")...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C reaches this process alone, which ends the others in order
	if p.lifeline, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	d.processes = append(d.processes, p)
	go func() {
		err := p.cmd.Wait()
		close(p.done)
		died(fmt.Errorf("the %s %w (%w): %s", name, errDied, err, tail(p.log)))
	}()
	return p, nil
}

// stop asks the process to end, and ends it if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(2 * processGrace):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	_ = p.lifeline.Close()
}

// UntilEOF ends ctx when r does: the process that holds the other end is gone.
func UntilEOF(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, r) // any end will do
		cancel()
	}()
	return ctx
}

// tail is the end of a log, for an error.
func tail(path string) string {
	const lines, widest = 3, 300
	text, err := os.ReadFile(path) //nolint:gosec // of the demo's own folder
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := all[max(0, len(all)-lines):]
	for i := range last {
		last[i] = "  " + fit(clean(last[i]), widest)
	}
	return "the end of its log:\n" + strings.Join(last, "\n")
}
