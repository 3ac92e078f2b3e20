package demo

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// operatorGrace is how long a process of the operator may take to end.
const operatorGrace = 5 * time.Second

// process is a running part of the operator.
type process struct {
	name, log string
	cmd       *exec.Cmd
	lifeline  io.Closer // its end ends the process, however this one ends
	done      chan struct{}
}

// OperatorCommand is the hidden subcommand that runs a part of the operator.
const OperatorCommand = "demo-operator"

// startOperator runs the own program again as one part of the operator. died is
// called if it ends before it is told to.
func (d *demo) startOperator(role, address, metrics string, died func(error)) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the own program: %w", err)
	}
	p := &process{name: role, log: filepath.Join(d.dir, role+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", role, err)
	}
	defer func() { _ = log.Close() }()                                                                 // the process has its own
	p.cmd = exec.Command(program, OperatorCommand, "--role="+role, "--kubeconfig="+d.kubeconfig(role), //nolint:gosec // the own program
		"--name="+d.options.Name, "--address="+address, "--metrics="+metrics)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C reaches this process alone, which ends the others in order
	if p.lifeline, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", role, err)
	}
	go func() {
		err := p.cmd.Wait()
		close(p.done)
		died(fmt.Errorf("the %s %w (%w): %s", role, errDied, err, tail(p.log)))
	}()
	return p, nil
}

// stop asks the process to end, and ends it if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(2 * operatorGrace):
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

// freeAddress is one that nobody listens on now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
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
