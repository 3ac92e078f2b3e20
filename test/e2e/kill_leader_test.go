package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func init() {
	// Each object asks for three attempts; one called "slow" holds its handler
	// until a file allows it to go on, or its context ends.
	scenarios["leads"] = func(p *program, r handler.Registry) {
		handler.Register(r, handler.Spec{ID: "work", On: handler.Create | handler.Update, Kind: testKind("Widget"), Labels: "test=" + p.Namespace},
			func(ctx context.Context, req *request) (handler.Result, error) {
				p.write("before", req)
				for req.Object.GetName() == "slow" {
					if _, err := os.Stat(filepath.Join(p.Scratch, "go")); err == nil {
						break
					}
					select {
					case <-ctx.Done():
						p.write("after", req, func(e *entry) { e.Interrupted = true })
						return handler.Result{}, ctx.Err()
					case <-time.After(5 * time.Millisecond):
					}
				}
				p.write("after", req)
				if req.Attempt < 3 {
					return handler.Result{}, handler.Temporary("not yet", handler.After(100*time.Millisecond))
				}
				return handler.Result{}, nil
			})
	}
}

// elected is a program with a short Lease.
func (b *bench) elected() program {
	b.Helper()
	p := b.program("leads", b.account("operator"))
	p.LeaderElection = true
	p.LeaseDuration, p.RenewDeadline, p.RetryPeriod = 3*time.Second, 2*time.Second, 300*time.Millisecond
	return p
}

func (b *bench) lease() *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	_ = b.admin.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: "dogear." + b.domain}, lease)
	return lease
}

// awaitLeader waits until somebody else than before holds the Lease.
func (b *bench) awaitLeader(before string) string {
	b.Helper()
	holder := ""
	rigtest.Eventually(b, settle, func() error {
		if h := b.lease().Spec.HolderIdentity; h == nil || *h == "" || *h == before {
			return fmt.Errorf("the leader is %v, want another than %q", h, before)
		} else {
			holder = *h
		}
		return nil
	})
	return holder
}

// attemptsOf lists the attempts that have begun on an object, in order.
func attemptsOf(all []entry, name string) (attempts []int) {
	for _, e := range only(all, begun) {
		if e.Name == name {
			attempts = append(attempts, e.Attempt)
		}
	}
	return attempts
}

// When the leader is killed, another process goes on where it was: nothing is
// lost, at most what was running is repeated, and the fence grows.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	const objects = 60
	b := newBench(t)
	p := b.elected()
	leader := b.spawn(p)
	first := b.awaitLeader("")
	standby := b.spawn(p)
	b.create(b.object(testKind("Widget"), "slow", `{"spec":{"size":1}}`)) // so that the leader cannot have finished when it is killed
	b.createMany("Widget", objects, nil)
	rigtest.Eventually(b, settle, func() error {
		all := readJournal(t, p.Journal)
		if n := len(all); n < objects || len(attemptsOf(all, "slow")) == 0 {
			return fmt.Errorf("%d lines in the journal", n)
		}
		return nil
	})
	leader.kill()
	b.awaitLeader(first)
	if err := os.WriteFile(filepath.Join(p.Scratch, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.allHandled("Widget", objects+1)

	journal := readJournal(t, p.Journal)
	repeats := 0
	for i := range objects {
		name := fmt.Sprintf("n%d", i)
		attempts := attemptsOf(journal, name)
		if distinct := slices.Compact(slices.Clone(attempts)); !slices.Equal(distinct, []int{1, 2, 3}) {
			t.Errorf("%s: attempts are %v", name, attempts)
		}
		repeats += len(attempts) - 3
	}
	if repeats > killingWorkers {
		t.Errorf("%d repeats by %d workers", repeats, killingWorkers)
	}
	b.fenced(journal, leader, standby)
}

// fenced checks that each process had a fence of its own, and a later one a
// greater one.
func (b *bench) fenced(journal []entry, processes ...*process) {
	b.Helper()
	last := int64(-1)
	for _, o := range processes {
		fences := map[int64]bool{}
		for _, e := range journal {
			if e.PID == o.cmd.Process.Pid {
				fences[e.Fence] = true
			}
		}
		if len(fences) != 1 {
			b.Errorf("process %d was told the fences %v, want one", o.cmd.Process.Pid, fences)
		}
		for fence := range fences {
			if fence <= last {
				b.Errorf("process %d has the fence %d after %d", o.cmd.Process.Pid, fence, last)
			}
			last = fence
		}
	}
}

// A leader that was paused until others took over puts no state of its own over
// that of its successor when it goes on, begins nothing, and ends. What it was
// just about to run when it was paused, only the fence keeps away.
func TestLeaderPaused(t *testing.T) {
	t.Parallel()
	const objects = 30
	b := newBench(t)
	p := b.elected()
	leader := b.spawn(p)
	first := b.awaitLeader("")
	b.create(b.object(testKind("Widget"), "slow", `{"spec":{"size":1}}`))
	rigtest.Eventually(b, settle, func() error {
		if n := len(readJournal(t, p.Journal)); n < 1 {
			return fmt.Errorf("%d lines in the journal", n)
		}
		return nil
	})
	b.createMany("Widget", objects, nil)
	rigtest.Eventually(b, settle, func() error {
		if n := len(readJournal(t, p.Journal)); n < objects {
			return fmt.Errorf("%d lines in the journal", n)
		}
		return nil
	})
	leader.signal(syscall.SIGSTOP)
	standby := b.spawn(p)
	b.awaitLeader(first)
	rigtest.Eventually(b, settle, func() error {
		if n := len(only(readJournal(t, p.Journal), func(e entry) bool { return e.Name == "slow" && begun(e) })); n < 2 {
			return fmt.Errorf("the second leader has not begun")
		}
		return nil
	})
	if err := os.WriteFile(filepath.Join(p.Scratch, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.allHandled("Widget", objects+1)
	settled := map[string]string{}
	for _, u := range b.list("Widget") {
		settled[u.GetName()] = u.GetResourceVersion()
	}
	resumed := time.Now()
	leader.signal(syscall.SIGCONT)
	leader.awaitEnd()
	b.awaitHandled(b.create(b.object(testKind("Widget"), "last", `{"spec":{"size":1}}`)))
	for _, u := range b.list("Widget") {
		if was := settled[u.GetName()]; was != "" && was != u.GetResourceVersion() {
			t.Errorf("%s was written to after it was settled: %s", u.GetName(), b.ours(&u))
		}
	}
	journal := readJournal(t, p.Journal)
	late := only(journal, func(e entry) bool { return e.PID == leader.cmd.Process.Pid && e.Began.After(resumed) && begun(e) })
	if len(late) > killingWorkers {
		t.Errorf("the old leader has begun %d runs more than those that it was just about to", len(late)-killingWorkers)
	}
	for i := range objects {
		name := fmt.Sprintf("n%d", i)
		attempts := attemptsOf(journal, name)
		sorted := slices.Sorted(slices.Values(attempts))
		if !slices.Equal(slices.Compact(sorted), []int{1, 2, 3}) || len(attempts) > 4 {
			t.Errorf("%s: attempts are %v", name, attempts)
		}
	}
	b.fenced(only(journal, func(e entry) bool { return e.Name != "last" }), leader, standby)
}

// A leader that cannot renew its Lease ends its handlers' contexts before
// another one may begin.
func TestLeaderCutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.elected()
	config, proxy := through(t, b.account("operator"))
	op, err := controller.New(controller.Options{
		Domain: b.domain, Namespace: b.namespace, Config: config, Log: rigtest.Log(b),
		LeaderElection: true, LeaseDuration: p.LeaseDuration, RenewDeadline: p.RenewDeadline, RetryPeriod: p.RetryPeriod,
	})
	if err != nil {
		t.Fatal(err)
	}
	began, over := make(chan *request, 1), make(chan time.Time, 1)
	handler.Register(op, handler.Spec{ID: "work", On: handler.Create | handler.Update, Kind: testKind("Widget"), Labels: "test=" + b.namespace},
		func(ctx context.Context, req *request) (handler.Result, error) {
			began <- req
			<-ctx.Done()
			over <- time.Now()
			return handler.Result{}, ctx.Err()
		})
	ended := make(chan error, 1)
	go func() { ended <- op.Start(context.WithoutCancel(t.Context())) }()
	first := b.awaitLeader("")
	b.create(b.object(testKind("Widget"), "slow", `{"spec":{"size":1}}`))
	interrupted := <-began
	b.spawn(p)
	proxy.Cut()
	if err := <-ended; err == nil {
		t.Error("the operator ended without an error: a supervisor would not start it again")
	}
	b.awaitLeader(first)
	rigtest.Eventually(b, settle, func() error {
		if n := len(readJournal(t, p.Journal)); n < 1 {
			return fmt.Errorf("the second leader has not begun")
		}
		return nil
	})
	journal := readJournal(t, p.Journal)
	if at := <-over; !at.Before(journal[0].Began) {
		t.Errorf("the first leader's handler ended at %s, after the second one's began at %s", at, journal[0].Began)
	}
	if journal[0].Attempt != 1 || journal[0].ID != interrupted.IdempotencyID || journal[0].Fence <= interrupted.Fence {
		t.Errorf("the second leader was told %+v after %+v", journal[0], interrupted.Info)
	}
}
