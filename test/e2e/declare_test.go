package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
)

// declarations collects registrations to be declared.
type declarations []handler.Registration

func (d *declarations) Add(r handler.Registration) { *d = append(*d, r) }

// declarer is an operator whose handlers come while it runs.
type declarer struct {
	*operator
	op *controller.Operator
}

func (b *bench) startDeclared(changes ...func(*controller.Options)) *declarer {
	b.Helper()
	d := &declarer{}
	d.operator = b.start(func(r handler.Registry) { d.op = r.(*controller.Operator) },
		append(changes, func(o *controller.Options) { o.Declared = true })...)
	return d
}

func (d *declarer) declare(removals map[schema.GroupVersionKind]controller.Removal, registers ...func(handler.Registry)) {
	d.Helper()
	var all declarations
	for _, register := range registers {
		register(&all)
	}
	for i := range all {
		all[i].Version = all[i].Spec.ID
	}
	if err := d.op.Declare(controller.Declaration{Registrations: all, Removals: removals}); err != nil {
		d.Fatal(err)
	}
}

// counted is a handler that counts its runs.
func (b *bench) counted(id string, on handler.Cause, c *calls, changes ...func(*handler.Spec)) func(handler.Registry) {
	spec := b.spec(testKind("Widget"), id, on)
	for _, change := range changes {
		change(&spec)
	}
	return one(spec, func(_ context.Context, r *request) (handler.Result, error) {
		c.add(r.Info)
		return handler.Result{Status: fields{"n": 1}}, nil
	})
}

func TestHandlersComeAndGoWhileTheOperatorRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.startDeclared(b.withWebhook())
	var first, second, late calls
	a := b.counted("set/a", handler.Create|handler.Update, &first)
	withLabel := func(s *handler.Spec) { s.Labels = "tier=web" }
	d.declare(nil, a)
	u := b.widget("one")
	b.awaitWebhook(u)
	b.create(u)
	b.awaitCalls(&first, 1)

	// Another handler narrows nothing: the first isn't disturbed, and the other
	// runs on what is there already.
	d.declare(nil, a, b.counted("set/b", handler.Create|handler.Delete, &second))
	b.awaitCalls(&second, 1)
	b.stays(u, &first, 1)
	if f := b.get(u).GetFinalizers(); len(f) != 1 {
		t.Errorf("finalizers %v", f)
	}
	if c := d.op.Counts("set/b"); c.Succeeded != 1 {
		t.Errorf("counts %+v", c)
	}

	// The second goes: what it left on the object goes with it.
	gone := map[schema.GroupVersionKind]controller.Removal{testKind("Widget"): {IDs: []string{"set/b"}}}
	d.declare(gone, a)
	d.awaitCleaned(testKind("Widget"))
	fresh := b.get(u)
	if text := fmt.Sprint(fresh.GetAnnotations()); len(fresh.GetFinalizers()) > 0 || strings.Contains(text, "set/b") || !strings.Contains(text, "set/a") {
		t.Errorf("left: %v %v", fresh.GetFinalizers(), fresh.GetAnnotations())
	}
	if c := d.op.Counts("set/b"); c != (controller.Counts{}) {
		t.Errorf("counts of a handler that is no more: %+v", c)
	}

	// What is watched changes with the only handler's selection.
	d.declare(nil, b.counted("set/c", handler.Create|handler.Delete, &late, withLabel))
	other := b.object(testKind("Widget"), "two", `{"spec":{"size":1}}`)
	other.SetLabels(map[string]string{"tier": "web"})
	b.create(other)
	b.awaitCalls(&late, 1)

	// All go: nothing of ours is left on any object, watched or not.
	d.declare(map[schema.GroupVersionKind]controller.Removal{testKind("Widget"): {IDs: []string{"set/a", "set/c"}, All: true}})
	d.awaitCleaned(testKind("Widget"))
	for _, o := range []*unstructured.Unstructured{u, other} {
		fresh := b.get(o)
		if annotations := fresh.GetAnnotations(); len(fresh.GetFinalizers()) > 0 || len(annotations) > 0 {
			t.Errorf("%s: left: %v %v", o.GetName(), fresh.GetFinalizers(), annotations)
		}
	}
	d.declare(nil)
	seen := len(first.all())
	b.patch(u, `{"spec":{"size":7}}`)
	b.stays(u, &first, seen)

	// And come again: it is a new handler, which sees all.
	d.declare(nil, a)
	b.awaitCalls(&first, seen+2)
}

func (d *declarer) awaitCleaned(gvk schema.GroupVersionKind) {
	d.Helper()
	d.eventually(func() error {
		left, done, err := d.op.Cleaned(gvk)
		if !done {
			return fmt.Errorf("%d objects left, %v", left, err)
		}
		return nil
	})
}

func TestARemovedDeleteHandlerHoldsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.startDeclared()
	kind := testKind("Widget")
	never := one(b.spec(kind, "set/stuck", handler.Create|handler.Delete), func(_ context.Context, r *request) (handler.Result, error) {
		if r.Cause == handler.Delete {
			return handler.Result{}, handler.Temporary("not yet", handler.After(3600e9))
		}
		return handler.Result{}, nil
	})
	d.declare(nil, never)
	u := b.create(b.widget("one"))
	b.await(u, "Succeeded")
	if err := b.admin.Delete(b.Context(), u); err != nil {
		t.Fatal(err)
	}
	b.await(u, "Retrying")
	d.declare(map[schema.GroupVersionKind]controller.Removal{kind: {IDs: []string{"set/stuck"}, All: true}})
	d.awaitCleaned(kind)
	b.eventually(func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(u), u.DeepCopy()); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the object is still there: %w", err)
		}
		return nil
	})
}

// turnstile lets through as many as it is told.
type turnstile struct {
	mu       sync.Mutex
	capacity int
	changed  map[*func()]bool
}

func (g *turnstile) Capacity() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.capacity
}

func (g *turnstile) OnChange(f func()) (cancel func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changed == nil {
		g.changed = map[*func()]bool{}
	}
	g.changed[&f] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.changed, &f)
	}
}

func (g *turnstile) set(n int) {
	g.mu.Lock()
	g.capacity = n
	changed := slices.Collect(maps.Keys(g.changed))
	g.mu.Unlock()
	for _, f := range changed {
		(*f)()
	}
}

// A closed gate holds up neither the handlers that don't share it nor uses up
// attempts; nothing is written while objects wait at it.
func TestAClosedGateHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.startDeclared(func(o *controller.Options) { o.Workers = 2 })
	var open, gated calls
	g := &turnstile{}
	shut := b.counted("set/gated", handler.Create, &gated)
	through := func(r handler.Registry) {
		var one declarations
		shut(&one)
		one[0].Gate = g
		r.Add(one[0])
	}
	d.declare(nil, through, b.counted("set/open", handler.Create, &open))
	const n = 30
	var last *unstructured.Unstructured
	for i := range n {
		last = b.create(b.widget(fmt.Sprintf("w%d", i)))
	}
	b.awaitCalls(&open, n)
	b.quiet(last)
	if have := len(gated.all()); have != 0 {
		t.Errorf("%d went through a closed gate", have)
	}
	before := b.get(last).GetResourceVersion()
	g.set(3)
	for _, info := range b.awaitCalls(&gated, n) {
		if info.Attempt != 1 {
			t.Errorf("attempt %d: waiting used some up", info.Attempt)
		}
	}
	b.await(last, "Succeeded")
	if before == b.get(last).GetResourceVersion() {
		t.Error("the outcome is not written")
	}
}

// A gate that opens again after a kind was given up opens for the others: no
// place is kept for objects that nobody handles any more.
func TestAKindThatIsGivenUpTakesNoPlaceOfAGate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.startDeclared()
	g := &turnstile{}
	behind := func(kind, id string, c *calls) func(handler.Registry) {
		return func(r handler.Registry) {
			var all declarations
			one(b.spec(testKind(kind), id, handler.Create), func(_ context.Context, r *request) (handler.Result, error) {
				c.add(r.Info)
				return handler.Result{}, nil
			})(&all)
			all[0].Gate = g
			r.Add(all[0])
		}
	}
	var never, gated calls
	kept := behind("Strict", "set/kept", &gated)
	d.declare(nil, kept, behind("Widget", "set/gone", &never))
	const n = 3
	for i := range n {
		b.create(b.object(testKind("Widget"), fmt.Sprintf("w%d", i), `{"spec":{"size":1}}`))
	}
	b.awaitPending("set/gone", d, n)
	for i := range n {
		b.create(b.object(testKind("Strict"), fmt.Sprintf("s%d", i), `{"spec":{"size":1}}`))
	}
	b.awaitPending("set/kept", d, n)
	d.declare(nil, kept)
	b.awaitPending("set/gone", d, 0)
	g.set(1)
	b.awaitCalls(&gated, n)
	if runs := never.all(); len(runs) > 0 {
		t.Errorf("runs for a kind that is given up: %v", runs)
	}
}

// awaitPending waits until a handler stands before so many objects.
func (b *bench) awaitPending(id string, d *declarer, n int) {
	b.Helper()
	b.eventually(func() error {
		if c := d.op.Counts(id); c.Pending != n {
			return fmt.Errorf("%s: %+v, want %d pending", id, c, n)
		}
		return nil
	})
}

// What a handler has left goes also while another one waits at a closed gate.
func TestARemovalWaitsForNoGate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.startDeclared()
	var gone, gated calls
	g := &turnstile{}
	shut := func(r handler.Registry) {
		var one declarations
		b.counted("set/gated", handler.Create, &gated)(&one)
		one[0].Gate = g
		r.Add(one[0])
	}
	d.declare(nil, b.counted("set/gone", handler.Create, &gone), shut)
	u := b.create(b.widget("one"))
	b.awaitCalls(&gone, 1)
	d.declare(map[schema.GroupVersionKind]controller.Removal{testKind("Widget"): {IDs: []string{"set/gone"}}}, shut)
	d.awaitCleaned(testKind("Widget"))
	if text := fmt.Sprint(b.get(u).GetAnnotations()); strings.Contains(text, "set/gone") || len(gated.all()) > 0 {
		t.Errorf("left: %s; runs behind the gate: %v", text, gated.all())
	}
}

// What a handler waits for is told by somebody else, once.
func TestAWaitingHandlerIsCompleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.startDeclared()
	var runs calls
	kind := testKind("Widget")
	d.declare(nil, one(b.spec(kind, "set/slow", handler.Create|handler.Update), func(_ context.Context, r *request) (handler.Result, error) {
		n := runs.add(r.Info)
		wait := 24 * time.Hour
		return handler.Result{Wait: &wait, Completion: fmt.Sprintf("word-%d", n), Status: fields{"phase": "Working"}}, nil
	}))
	u := b.create(b.widget("one"))
	b.await(u, "Waiting")
	end := func(word string) error {
		patch := &handler.Patch{}
		patch.SetLabel("done", "yes")
		return d.op.Complete(b.Context(), controller.Completion{
			Kind: kind, Namespace: u.GetNamespace(), Name: u.GetName(), UID: b.get(u).GetUID(), HandlerID: "set/slow",
			Word: word, Result: handler.Result{Status: fields{"phase": "Done"}}, Patch: patch,
		})
	}
	if err := end("forged"); !errors.Is(err, controller.ErrSuperseded) {
		t.Errorf("a wrong word: %v", err)
	}
	b.resize(u, 5) // is another reason to run: what it waited for counts no more
	b.awaitCalls(&runs, 2)
	b.await(u, "Waiting")
	if err := end("word-1"); !errors.Is(err, controller.ErrSuperseded) {
		t.Errorf("the word of an earlier run: %v", err)
	}
	if err := end("word-2"); err != nil {
		t.Fatal(err)
	}
	fresh := b.get(u)
	if state := fresh.GetAnnotations()[b.key("state")]; state != "Succeeded" || fresh.GetLabels()["done"] != "yes" {
		t.Errorf("state %q, labels %v when Complete has returned", state, fresh.GetLabels())
	}
	if err := end("word-2"); !errors.Is(err, controller.ErrSuperseded) {
		t.Errorf("the word once more: %v", err)
	}
	b.stays(u, &runs, 2)
}

// Handlers that don't agree on a label don't go on for ever at full speed.
func TestHandlersThatDisagreeCalmDown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var runs calls
	paint := func(id, color string) func(handler.Registry) {
		return one(b.spec(testKind("Widget"), id, handler.Create|handler.Update), func(_ context.Context, r *request) (handler.Result, error) {
			runs.add(r.Info)
			r.Patch.SetLabel("color", color)
			return handler.Result{}, nil
		})
	}
	b.start(func(r handler.Registry) { paint("red", "red")(r); paint("blue", "blue")(r) })
	u := b.create(b.widget("one"))
	b.awaitOneEvent(u, controller.ReasonDisagree)
	b.quiet(u)
	if n := len(runs.all()); n > 40 {
		t.Errorf("%d runs until the handlers were told to calm down", n)
	}
	before := len(runs.all())
	b.resize(u, 9) // somebody else's change counts at once
	b.eventually(func() error {
		for _, info := range runs.all()[before:] {
			if info.Cause == handler.Update {
				return nil
			}
		}
		return errors.New("no run for the change")
	})
}
