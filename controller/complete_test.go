package controller

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/handler"
)

// waiting is a stage with an object whose handler waits for a word. What is
// enqueued gets its pass at once.
func waiting(t *testing.T) (*stage, *unstructured.Unstructured) {
	t.Helper()
	s := newStage(t)
	s.declare(registered(handler.Spec{ID: "set/slow", On: handler.Create}, nil, func(r *request) (results, error) {
		wait := 24 * time.Hour
		return results{Wait: &wait, Completion: "word"}, nil
	}))
	u := s.create("default", "one")
	s.pass(u)
	var one sync.Mutex
	s.kind.enqueue = func(key reconcile.Request) {
		go func() {
			one.Lock()
			defer one.Unlock()
			_, _ = s.kind.Reconcile(t.Context(), key)
		}()
	}
	return s, u
}

func (s *stage) complete(u *unstructured.Unstructured, changes ...func(*Completion)) error {
	c := Completion{Kind: widgets, Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), HandlerID: "set/slow", Word: "word"}
	for _, change := range changes {
		change(&c)
	}
	return s.op.Complete(s.Context(), c)
}

func (s *stage) nothingIsLeft() {
	s.Helper()
	s.kind.memory.mu.Lock()
	defer s.kind.memory.mu.Unlock()
	if n := len(s.kind.completions); n > 0 {
		s.Errorf("%d objects still have completions", n)
	}
}

// An outcome that could not be written at once is told again by a sender that
// heeds the answer: it counts, and the sender is told so when it is written.
func TestAnOutcomeToldAgainIsAnsweredWhenItIsWritten(t *testing.T) {
	t.Parallel()
	s, u := waiting(t)
	s.refusing(func() error { return errServer })
	for range 2 {
		if err := s.complete(u); !errors.Is(err, ErrUnwritten) {
			t.Fatalf("while the server fails: %v", err)
		}
	}
	s.refusing(nil)
	if err := s.complete(u); err != nil {
		t.Fatalf("told again: %v", err)
	}
	if state := s.marker(u).State; state != "Succeeded" {
		t.Errorf("state %q when Complete has returned", state)
	}
	if err := s.complete(u); !errors.Is(err, ErrSuperseded) {
		t.Errorf("once more, after it was written: %v", err)
	}
	s.nothingIsLeft()
}

// What nobody waits for any more is not to be told again, and what may come
// again is.
func TestOutcomesForAKindThatIsStopped(t *testing.T) {
	t.Parallel()
	s, u := waiting(t)
	s.running.stop()
	if err := s.complete(u); !errors.Is(err, ErrNotLeading) {
		t.Errorf("of a kind that is about to run again: %v", err)
	}
	for name, c := range map[string]struct {
		declared Declaration
		want     error
	}{
		"no handler":               {Declaration{}, ErrSuperseded},
		"another kind is kept":     {Declaration{Keep: []schema.GroupKind{{Group: "example.com", Kind: "Gadget"}}}, ErrSuperseded},
		"a removal":                {Declaration{Removals: map[schema.GroupVersionKind]Removal{widgets: {All: true}}}, ErrSuperseded},
		"the kind is kept":         {Declaration{Keep: []schema.GroupKind{widgets.GroupKind()}}, ErrNotLeading},
		"what is kept isn't known": {Declaration{KeepAll: true}, ErrNotLeading},
	} {
		if err := s.op.Declare(c.declared); err != nil {
			t.Fatal(err)
		}
		if err := s.complete(u); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// Where a kind is handled in another version by now, its objects are the same.
func TestAnOutcomeOutlivesTheVersionOfItsKind(t *testing.T) {
	t.Parallel()
	s, u := waiting(t)
	if err := s.complete(u, func(c *Completion) { c.Kind.Version = "v1alpha1" }); err != nil {
		t.Error(err)
	}
}

// Nothing can be taken in where a newer release has written the marker.
func TestAnOutcomeForAnObjectThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s, u := waiting(t)
	fresh := s.get(u)
	annotations := fresh.GetAnnotations()
	annotations[s.op.prefix.Key("progress")] = `{"v":99}`
	fresh.SetAnnotations(annotations)
	if err := s.server.Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.complete(u); !errors.Is(err, ErrUnwritten) || time.Since(began) > completeTimeout/2 {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	s.nothingIsLeft()
}

func TestAnOutcomeForAnObjectThatIsGoneMeanwhile(t *testing.T) {
	t.Parallel()
	s, u := waiting(t)
	s.refusing(func() error {
		if err := s.server.Delete(t.Context(), s.get(u)); err != nil {
			t.Error(err)
		}
		return apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, u.GetName())
	})
	if err := s.complete(u); !errors.Is(err, ErrSuperseded) {
		t.Error(err)
	}
	s.nothingIsLeft()
}

func TestAnOutcomeThatNoPassTakesInIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, u := waiting(t)
		s.kind.enqueue = func(reconcile.Request) {}
		began := time.Now()
		if err := s.complete(u); !errors.Is(err, ErrUnwritten) || time.Since(began) != completeTimeout {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		s.nothingIsLeft()
		s.running.stop()
	})
}

func TestAnOutcomeForAnotherObjectOfThatName(t *testing.T) {
	t.Parallel()
	s, u := waiting(t)
	if err := s.complete(u, func(c *Completion) { c.UID = types.UID("another") }); !errors.Is(err, ErrSuperseded) {
		t.Error(err)
	}
}
