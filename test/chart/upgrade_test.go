package chart

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// byName answers by what objects are called: what becomes of them, until they
// are let go.
type byName struct {
	free atomic.Bool
	held chan struct{} // closed when those whose names begin with "sheld" may be answered
}

func (n *byName) answer(c call) v1alpha1.HandlerReviewResponse {
	hold := v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded}
	switch {
	case strings.HasPrefix(c.Name, "sheld"):
		<-n.held
	case c.Name[0] == 'f':
		hold = v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeFailed, Message: "for good"}
	case n.free.Load() || c.Name[0] == 's':
	case c.Name[0] == 'w':
		hold = v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeWaiting, After: &v1alpha1.Duration{Duration: 2 * time.Second}}
	case c.Name[0] == 'r':
		hold = v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeRetrying, Message: "not yet", After: &v1alpha1.Duration{Duration: 2 * time.Second}}
	}
	return hold
}

// TestUpgradeAndBack: the release before, this one, and the one before again
// run the same handlings one after the other. Each reads what the other has
// written: attempts are counted on, nothing finished runs again, and nothing is
// forgotten.
func TestUpgradeAndBack(t *testing.T) {
	buildPrevious(t)
	b := newBench(t)
	// The one before has no probe of its controller, so helm cannot wait for it.
	older := []string{"--set=image.tag=" + before + ",controller.strategy.type=Recreate,controller.strategy.rollingUpdate=null"}
	newer := []string{"--set=controller.strategy.type=Recreate,controller.strategy.rollingUpdate=null"}
	b.helm(append([]string{"install", release, b.chart(), handles}, older...)...)
	n := &byName{held: make(chan struct{})}
	e := b.endpoint("hook", n.answer)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Update, Delete], retry: {limit: 1000}, http: "+e.http()+"}\n")

	states := map[string]string{"s": "Succeeded", "f": "Failed", "w": "Waiting", "r": "Retrying"}
	made := map[string][]*unstructured.Unstructured{}
	for name, state := range states {
		made[name] = b.certificates(name+"old", 5)
		b.await(state, made[name]...)
	}
	made["s"] = append(made["s"], b.turn(before, current, newer)...)
	b.continues(e, made, states)
	for name, state := range states {
		fresh := b.certificates(name+"new", 5)
		b.await(state, fresh...)
		made[name] = append(made[name], fresh...)
	}
	made["s"] = append(made["s"], b.calledUntilTheStop(e, n.held)...)
	made["s"] = append(made["s"], b.turn(current, before, older)...)
	b.continues(e, made, states)
	made["s"] = append(made["s"], b.turn(before, current, newer)...)

	n.free.Store(true)
	b.await("Succeeded", append(made["w"], made["r"]...)...)
	for name, all := range made {
		for _, u := range all {
			b.wentOn(e, u, name)
		}
	}
	b.uninstall()
	b.leftNothing()
}

// calledUntilTheStop returns objects whose calls are under way until the
// controller has been told to stop.
func (b *bench) calledUntilTheStop(e *endpoint, answer chan<- struct{}) []*unstructured.Unstructured {
	b.Helper()
	all := b.certificates("sheld", 5)
	b.eventually(func() error {
		for _, u := range all {
			if len(e.of(u.GetName())) == 0 {
				return fmt.Errorf("%s has not been called", u.GetName())
			}
		}
		return nil
	})
	pod := b.pods("controller")[0]
	go func() {
		defer close(answer) // also where the test ends before
		for b.Context().Err() == nil && !b.drains(&pod) {
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return all
}

// drains tells whether a controller has been told to stop.
func (b *bench) drains(pod *corev1.Pod) bool {
	text, err := os.ReadFile(b.node.Log(pod.Namespace, pod.Name, "controller"))
	return err == nil && strings.Contains(string(text), "no handler begins any more")
}

// turn changes to another version and waits until it alone is at work. It
// returns objects that were made meanwhile.
func (b *bench) turn(from, to string, args []string) (between []*unstructured.Unstructured) {
	b.Helper()
	b.helm(append([]string{"upgrade", release, b.chart(), handles}, args...)...)
	// Webhooks of both versions answer for a while.
	between = b.certificates(fmt.Sprintf("s%d-between", time.Now().Unix()), 5)
	for _, component := range []string{"controller", "webhook"} {
		b.eventually(func() error {
			pods := b.pods(component)
			for _, p := range pods {
				if p.Spec.Containers[0].Image != image+":"+to {
					return fmt.Errorf("Pod %s runs %s", p.Name, p.Spec.Containers[0].Image)
				}
				if _, err := b.node.Process(&p, component); err != nil {
					return err
				}
			}
			if len(pods) == 0 {
				return fmt.Errorf("no Pod of the %s in place of %s", component, from)
			}
			return nil
		})
	}
	b.eventually(b.stamps)
	b.await("Succeeded", between...)
	return between
}

// continues waits until objects that are not finished have been called again.
func (b *bench) continues(e *endpoint, made map[string][]*unstructured.Unstructured, states map[string]string) {
	b.Helper()
	for name, all := range made {
		for _, u := range all {
			calls := len(e.of(u.GetName()))
			if name == "w" || name == "r" {
				b.eventually(func() error {
					if len(e.of(u.GetName())) == calls {
						return fmt.Errorf("%s has not been called again", u.GetName())
					}
					return nil
				})
			}
		}
		b.await(states[name], all...)
	}
}

// wentOn checks the calls for an object: one idempotency ID, attempts that
// count on, and one call alone where that finished it.
func (b *bench) wentOn(e *endpoint, u *unstructured.Unstructured, name string) {
	b.Helper()
	calls := e.of(u.GetName())
	for i, c := range calls {
		want := int32(1)
		if name == "r" {
			want = int32(i + 1)
		}
		if c.ID != calls[0].ID || c.Attempt != want {
			b.Errorf("%s: call %d is attempt %d with the ID %s, want attempt %d with %s", u.GetName(), i, c.Attempt, c.ID, want, calls[0].ID)
		}
	}
	if (name == "s" || name == "f") && len(calls) != 1 {
		b.Errorf("%s was called %d times", u.GetName(), len(calls))
	}
}
