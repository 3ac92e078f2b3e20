package chart

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/rig/node"
)

// lease is that of the controllers.
func (b *bench) lease() coordinationv1.LeaseSpec {
	b.Helper()
	l := &coordinationv1.Lease{}
	if err := b.admin.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: "dogear.dev"}, l); err != nil {
		b.Fatal(err)
	}
	return l.Spec
}

// leader finds the process that leads: the fence of a call tells how often the
// Lease has changed hands, and the log of a Pod when it took it.
func (b *bench) leader() (corev1.Pod, *node.Process) {
	b.Helper()
	for _, pod := range b.pods("controller") {
		for _, line := range b.log(&pod, "controller") {
			if strings.Contains(line, "Successfully acquired lease") {
				p, err := b.node.Process(&pod, "controller")
				if err != nil {
					b.Fatal(err)
				}
				return pod, p
			}
		}
	}
	b.Fatal("no controller has acquired the Lease")
	return corev1.Pod{}, nil
}

// awaitTakeover waits until somebody else than before holds the Lease, and
// returns when that took it.
func (b *bench) awaitTakeover(before string) time.Time {
	b.Helper()
	var l coordinationv1.LeaseSpec
	b.eventually(func() error {
		if l = b.lease(); l.HolderIdentity == nil || *l.HolderIdentity == "" || *l.HolderIdentity == before {
			return fmt.Errorf("the Lease is %+v", l)
		}
		return nil
	})
	return l.AcquireTime.Time
}

// thrice succeeds at the third attempt.
func thrice(c call) v1alpha1.HandlerReviewResponse {
	if c.Attempt < 3 {
		return v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeRetrying, Message: "not yet", After: &v1alpha1.Duration{Duration: 200 * time.Millisecond}}
	}
	return v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded}
}

// leaseTakes is what a takeover may take: others look at the Lease every retry
// period, which client-go stretches by up to 1.2 times its length, so that they
// see its last renewal late; then for its duration nobody renews it; and then
// they look again. Two seconds are for the machine.
const leaseTakes = 15*time.Second + 2*(2*time.Second*22/10) + 2*time.Second

// TestALeaderIsKilled: another controller takes over within the time of the
// Lease, and no handling is lost or done twice, but for calls that were under way.
func TestALeaderIsKilled(t *testing.T) {
	b := newBench(t)
	b.install("--set=controller.replicas=2")
	e := b.endpoint("hook", thrice)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create], retry: {limit: 10}, http: "+e.http()+"}\n")
	before := *b.lease().HolderIdentity
	_, leader := b.leader()

	all := b.certificates("a", 40)
	b.eventually(func() error {
		if n := len(e.calls()); n < 40 {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	killed := time.Now()
	if err := leader.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if took := b.awaitTakeover(before).Sub(killed); took > leaseTakes {
		t.Errorf("the takeover came after %s, want %s at most", took, leaseTakes)
	}
	b.await("Succeeded", all...)
	b.onceEach(e, all)
}

// TestALeaderIsToldToStop: calls under way are waited for, and the next leader
// repeats none of them.
func TestALeaderIsToldToStop(t *testing.T) {
	b := newBench(t)
	b.install("--set=controller.replicas=2")
	answer := make(chan struct{})
	let := sync.OnceFunc(func() { close(answer) })
	e := b.endpoint("hook", func(call) v1alpha1.HandlerReviewResponse {
		<-answer
		return v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded}
	})
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create], http: "+strings.TrimSuffix(e.http(), "}")+", timeout: 1m}}\n")
	t.Cleanup(let)
	before := *b.lease().HolderIdentity
	pod, _ := b.leader()

	all := b.certificates("a", 2*workersOfASet)
	b.eventually(func() error {
		if n := len(e.calls()); n < workersOfASet {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	if err := b.admin.Delete(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error {
		if !b.drains(&pod) {
			return fmt.Errorf("%s has not been told to stop", pod.Name)
		}
		return nil
	})
	if holder := b.lease().HolderIdentity; holder == nil || *holder != before {
		t.Errorf("the Lease is held by %v while calls are under way, want %s", holder, before)
	}
	let()
	b.awaitTakeover(before)
	b.await("Succeeded", all...)
	if n := len(e.calls()); n != len(all) {
		t.Errorf("%d calls for %d objects", n, len(all))
	}
}

// workersOfASet is how many calls of one handler are made at a time by default: so
// many a paused leader can have been about to send.
const workersOfASet = 8

// onceEach checks that each object had the attempts 1 to 3 under one idempotency
// ID, that no leader made one of them twice, and that the change of the leader
// repeated no more than one an object: that whose outcome was not written yet.
// It can be so for all objects, as there are more workers than objects.
func (b *bench) onceEach(e *endpoint, all []*unstructured.Unstructured) {
	b.Helper()
	type made struct {
		attempt int32
		fence   int64
	}
	repeats := 0
	for _, u := range all {
		calls := e.of(u.GetName())
		repeats += len(calls) - 3
		var attempts []int32
		by := map[made]int{}
		for _, c := range calls {
			attempts = append(attempts, c.Attempt)
			by[made{c.Attempt, c.Fence}]++
			if c.ID != calls[0].ID {
				b.Errorf("%s: idempotency IDs %s and %s", u.GetName(), calls[0].ID, c.ID)
			}
		}
		slices.Sort(attempts)
		if len(attempts) > 4 || !slices.Equal(slices.Compact(slices.Clone(attempts)), []int32{1, 2, 3}) {
			b.Errorf("%s: attempts are %v, want 1 to 3 and one of them twice at most", u.GetName(), attempts)
		}
		for m, n := range by {
			if n > 1 {
				b.Errorf("%s: the leader of fence %d made attempt %d %d times", u.GetName(), m.fence, m.attempt, n)
			}
		}
	}
	b.Logf("%d calls for %d objects were repeated", repeats, len(all))
}

// TestALeaderIsPaused: one that stood still for longer than its Lease writes
// nothing over what its successor has done, and ends.
func TestALeaderIsPaused(t *testing.T) {
	b := newBench(t)
	b.install("--set=controller.replicas=2")
	e := b.endpoint("hook", thrice)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Update], retry: {limit: 10}, http: "+e.http()+"}\n")
	before := *b.lease().HolderIdentity
	pod, leader := b.leader()

	all := b.certificates("a", 40)
	b.eventually(func() error {
		if n := len(e.calls()); n < 40 {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	if err := leader.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	paused := time.Now()
	took := b.awaitTakeover(before).Sub(paused)
	if took > leaseTakes {
		t.Errorf("the takeover came after %s, want %s at most", took, leaseTakes)
	}
	b.await("Succeeded", all...)
	settled := map[string]string{}
	for _, u := range all {
		fresh, err := b.get(u)
		if err != nil {
			t.Fatal(err)
		}
		settled[u.GetName()] = fresh.GetResourceVersion()
	}
	calls := len(e.calls())
	<-time.After(time.Until(paused.Add(20 * time.Second))) // for longer than any Lease: the pause is what is tested
	if err := leader.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error { // it cannot go on, and its Pod starts it anew
		for _, p := range b.pods("controller") {
			if p.Name == pod.Name && p.Status.ContainerStatuses[0].RestartCount > 0 && p.Status.ContainerStatuses[0].Ready {
				return nil
			}
		}
		return fmt.Errorf("the paused controller has not been started again")
	})
	last := b.certificate("last")
	b.await("Succeeded", last)
	for _, u := range all {
		fresh, err := b.get(u)
		if err != nil || fresh.GetResourceVersion() != settled[u.GetName()] {
			t.Errorf("%s was written to after it was settled: %v %v", u.GetName(), fresh.GetAnnotations(), err)
		}
	}
	if late := len(e.calls()) - calls - 3; late > workersOfASet {
		t.Errorf("%d calls after the pause", late)
	}
	b.onceEach(e, all)
	b.fenced(e)
}

// fenced checks that the later calls have the greater fence, but for those that
// the paused leader had begun, or was just about to.
func (b *bench) fenced(e *endpoint) {
	b.Helper()
	fences := map[int64]bool{}
	newest, late := int64(0), 0
	for _, c := range e.calls() { // in the order in which they came
		fences[c.Fence] = true
		if newest = max(newest, c.Fence); c.Fence < newest {
			late++
		}
	}
	if len(fences) != 2 {
		b.Errorf("fences are %v, want those of two leaders", fences)
	}
	if late > workersOfASet {
		b.Errorf("%d calls with the fence of the paused leader after those of its successor", late)
	}
}
