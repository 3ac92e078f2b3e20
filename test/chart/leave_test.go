package chart

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// TestWhatAReleaseLeavesThatWasTornDown: hooks were left out, so that nothing was
// released; the command does it afterwards, with no release to ask.
func TestWhatAReleaseLeavesThatWasTornDown(t *testing.T) {
	b := newBench(t)
	b.install()
	e := b.endpoint("hook", nil)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Delete], http: "+e.http()+"}\n")
	all := b.certificates("a", 5)
	b.await("Succeeded", all...)
	b.helm("uninstall", release, "--no-hooks", "--wait", "--timeout", helmTimeout)
	b.delete(all[0])
	if err := b.isGone(all[0]); err == nil {
		t.Fatal("the object is gone, though nobody has released it")
	}
	out, err := b.program("uninstall", "--yes", "-n", namespace, "--remove-markers")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.eventually(func() error { return b.isGone(all[0]) })
	for _, u := range all[1:] {
		fresh, err := b.get(u)
		if err != nil || holds(fresh) || stateOf(fresh) != "" {
			t.Errorf("%s: %v %v %v", u.GetName(), fresh.GetFinalizers(), fresh.GetAnnotations(), err)
		}
	}
	b.leftNothing()
	if out, err := b.program("uninstall", "--yes", "-n", namespace); err != nil {
		t.Errorf("again, with nothing left: %v: %s", err, out)
	}
}

// TestAMove: a release that keeps its state goes on as another, of another
// name: what was finished is not done again, and what was not is.
func TestAMove(t *testing.T) {
	b := newBench(t)
	b.crds()
	keep := "--set=crds.enabled=false,uninstall.keepState=true"
	b.install(keep)
	e := b.endpoint("hook", nil)
	b.set("certificates", "existing: Adopt\nhandlers:\n- {id: myapp, causes: [Create, Delete], http: "+e.http()+"}\n")
	done := b.certificates("done", 5)
	b.await("Succeeded", done...)
	e.become(soon)
	open := b.certificates("open", 5)
	b.await("Waiting", open...)
	b.uninstall()
	for _, o := range webhookConfigurations {
		o := o.DeepCopyObject().(client.Object)
		o.SetName("dogear.dev")
		if err := b.isGone(o); err != nil {
			t.Error(err)
		}
	}
	for _, u := range append(done, open...) {
		if fresh, err := b.get(u); err != nil || !holds(fresh) {
			t.Errorf("%s has lost its finalizer: %v", u.GetName(), err)
		}
	}
	e.become(nil)
	b.helm("install", "moved", b.chart(), "--wait", "--timeout", helmTimeout, handles, "--set=crds.enabled=false")
	b.Cleanup(func() {
		if _, err := b.cp.Helm(context.Background(), "uninstall", "moved", "--namespace", namespace, "--no-hooks", "--ignore-not-found"); err != nil {
			b.Error(err)
		}
	})
	last := b.certificate("last")
	b.await("Succeeded", last)
	for _, u := range done {
		if calls := e.of(u.GetName()); len(calls) != 1 {
			t.Errorf("%s: calls %+v", u.GetName(), calls)
		}
	}
	b.await("Succeeded", open...)
	for _, u := range open {
		for _, c := range e.of(u.GetName()) {
			if c.ID != e.of(u.GetName())[0].ID || c.Attempt != 1 {
				t.Errorf("%s: %+v", u.GetName(), e.of(u.GetName()))
			}
		}
	}
}

// soon has a handler called again at once.
func soon(call) v1alpha1.HandlerReviewResponse {
	return v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeWaiting, After: &v1alpha1.Duration{Duration: time.Second}}
}
