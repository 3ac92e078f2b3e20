package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

// process is a running subject.
type process struct {
	name    string
	log     string
	cmd     *exec.Cmd
	mu      sync.Mutex // one command at a time
	in      io.WriteCloser
	answers *bufio.Reader
	began   time.Time
	webhook *process // a second process that belongs to it; nil: none
	hurry   bool     // don't wait for connections that the API server keeps open
}

// stopLimit is how long a subject may take to stop.
const stopLimit = 20 * time.Second

// launch starts a subject of a contender from this binary. Its log is in the
// bench's folder.
func (b *bench) launch(kind, name string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args = append([]string{kind, "-kubeconfig", b.kubeconfigs[name], "-namespace", namespaceOf(name), "-selected", name, "-workers", fmt.Sprint(workers)}, args...)
	p := &process{name: name, hurry: b.quick, log: filepath.Join(b.dir, name+"."+kind+".log"), cmd: exec.Command(self, args...)}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	p.cmd.Stderr = log
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = bufio.NewReader(out)
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// ask sends a command and returns the answer.
func (p *process) ask(command string) (a subject.Answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		return a, p.broken(err)
	}
	line, err := p.answers.ReadBytes('\n')
	if err != nil {
		return a, p.broken(err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, p.broken(err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", p.name, a.Error)
	}
	return a, nil
}

func (p *process) broken(err error) error {
	text, _ := os.ReadFile(p.log)
	return fmt.Errorf("talk to %s: %w; the end of its log: %s", p.name, err, text[max(0, len(text)-2000):])
}

// askEvery is the time between two questions: each takes the subject a
// millisecond or two.
const askEvery = 50 * time.Millisecond

// await asks until what is wanted is the case.
func (p *process) await(ctx context.Context, what string, wanted func(subject.Answer) bool) error {
	return eventually(ctx, askEvery, func() error {
		a, err := p.ask(subject.Look)
		if err != nil {
			return fatal{err}
		}
		if !wanted(a) {
			return fmt.Errorf("%s: %s: not so far: %+v", p.name, what, a)
		}
		return nil
	})
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	if err := p.webhook.stop(); err != nil {
		return err
	}
	_ = p.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	if p.hurry {
		_ = p.cmd.Process.Kill()
		<-ended // by the signal
		return nil
	}
	select {
	case err := <-ended:
		if err != nil {
			return p.broken(err)
		}
		return nil
	case <-time.After(stopLimit):
		_ = p.cmd.Process.Kill()
		return errors.Join(fmt.Errorf("%s did not stop within %s", p.name, stopLimit), <-ended)
	}
}

// cpu is the CPU time of the process so far; that of no process is 0.
func (p *process) cpu() (time.Duration, error) {
	if p == nil {
		return 0, nil
	}
	also, err := p.webhook.cpu()
	if err != nil {
		return 0, err
	}
	own, err := cpuTime(p.cmd.Process.Pid)
	return own + also, err
}

// memory is what the process takes now, in MiB.
func (p *process) memory() (float64, error) {
	if p == nil {
		return 0, nil
	}
	also, err := p.webhook.memory()
	if err != nil {
		return 0, err
	}
	own, err := residentMiB(p.cmd.Process.Pid)
	return own + also, err
}

// fatal is an error that no waiting mends.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// waitLimit bounds everything that is waited for.
const waitLimit = 5 * time.Minute

// eventually calls done until it returns nil, or a fatal error.
func eventually(ctx context.Context, pause time.Duration, done func() error) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		err := done()
		var stop fatal
		if err == nil || errors.As(err, &stop) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}
