package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"context"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig"
)

// programEnv makes the test binary an operator: it holds a program as JSON.
const programEnv = "DOGEAR_E2E_PROGRAM"

// program is an operator in a process of its own.
type program struct {
	Scenario          string // names its handlers
	Kubeconfig        string
	Domain, Namespace string
	Journal           string // where its handlers write what they were told
	Scratch           string // a folder for the scenario

	// Webhook is the address of a webhook that another process serves, and for
	// which this one publishes the configuration; empty: none.
	Webhook string

	LeaderElection                            bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// scenarios are the handlers that a program may have.
var scenarios = map[string]func(*program, handler.Registry){}

// entry is a line of a journal: a handler has begun or is about to return.
type entry struct {
	Phase                         string // "before" or "after"
	PID                           int
	UID, Name, Handler, Cause, ID string
	Attempt                       int
	Size, Fence                   int64
	Began                         time.Time
	Started                       time.Time
	Interrupted                   bool
}

// write adds a line, in one system call: it is there whatever happens next.
func (p *program) write(phase string, req *request, change ...func(*entry)) {
	e := entryOf(phase, req)
	for _, c := range change {
		c(&e)
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(p.Journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func entryOf(phase string, req *request) entry {
	return entry{
		Phase: phase, PID: os.Getpid(), UID: string(req.Object.GetUID()), Name: req.Object.GetName(),
		Handler: req.HandlerID, Cause: req.Cause.String(), ID: req.IdempotencyID, Attempt: req.Attempt,
		Size: sizeOf(req.Object), Fence: req.Fence, Began: time.Now(), Started: req.Started,
	}
}

// readJournal reads what the handlers of all processes have written.
func readJournal(t testing.TB, path string) []entry {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var all []entry
	text = text[:bytes.LastIndexByte(text, '\n')+1] // a last line may be on its way
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("journal: %v: %s", err, lines.Bytes())
		}
		all = append(all, e)
	}
	return all
}

func only(all []entry, want func(entry) bool) []entry {
	var out []entry
	for _, e := range all {
		if want(e) {
			out = append(out, e)
		}
	}
	return out
}

func begun(e entry) bool { return e.Phase == "before" }

// runProgram is what main does in a process that is an operator. It ends with
// the test: its standard input is a pipe that the test holds.
func runProgram(text string) error {
	p := &program{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return err
	}
	options := controller.Options{
		Domain: p.Domain, Namespace: p.Namespace, Config: config, GracePeriod: 5 * time.Second,
		LeaderElection: p.LeaderElection,
		LeaseDuration:  p.LeaseDuration, RenewDeadline: p.RenewDeadline, RetryPeriod: p.RetryPeriod,
	}
	if p.Webhook != "" {
		options.Roles = controller.RoleController
		options.Webhook = &controller.Webhook{URL: "https://" + p.Webhook}
	}
	op, err := controller.New(options)
	if err != nil {
		return err
	}
	scenario, ok := scenarios[p.Scenario]
	if !ok {
		return fmt.Errorf("no scenario %q", p.Scenario)
	}
	scenario(p, op)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return op.Start(ctx)
}

// process is a program that runs, or has run.
type process struct {
	*bench
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// program fills in what all programs of a test share.
func (b *bench) program(scenario string, config *rest.Config) program {
	b.Helper()
	dir := b.TempDir()
	p := program{
		Scenario: scenario, Domain: b.domain, Namespace: b.namespace, Scratch: dir,
		Kubeconfig: filepath.Join(dir, "kubeconfig"), Journal: filepath.Join(dir, "journal"),
	}
	if err := rig.WriteKubeconfig(p.Kubeconfig, config); err != nil {
		b.Fatal(err)
	}
	return p
}

// spawn starts a program; it ends with the test at the latest.
func (b *bench) spawn(p program) *process {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		b.Fatal(err)
	}
	log, err := os.CreateTemp(p.Scratch, "log-")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	o := &process{bench: b, cmd: exec.Command(self), log: log.Name(), done: make(chan struct{})}
	o.cmd.Env = append(os.Environ(), programEnv+"="+string(text))
	o.cmd.Stdout, o.cmd.Stderr = log, log
	if _, err := o.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		_ = o.cmd.Wait() // how it ended is in ProcessState
		close(o.done)
	}()
	b.Cleanup(func() {
		o.kill()
		if b.Failed() {
			b.Logf("process %d: %s", o.cmd.Process.Pid, o.tail())
		}
	})
	return o
}

func (o *process) tail() string {
	text, _ := os.ReadFile(o.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// kill ends the process as a crash would, and waits until it is gone.
func (o *process) kill() {
	_ = o.cmd.Process.Kill() // it may have ended by itself
	<-o.done
}

func (o *process) signal(s syscall.Signal) {
	o.Helper()
	if err := o.cmd.Process.Signal(s); err != nil {
		o.Fatal(err)
	}
}

// awaitEnd waits until the process has ended by itself.
func (o *process) awaitEnd() {
	o.Helper()
	select {
	case <-o.done:
	case <-time.After(settle):
		o.Fatalf("process %d still runs: %s", o.cmd.Process.Pid, o.tail())
	}
}
