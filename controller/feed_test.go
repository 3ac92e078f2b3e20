package controller

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	toolscache "k8s.io/client-go/tools/cache"

	"github.com/dogear-dev/dogear/controller/handler"
)

// somewhere is a cache of what the server has in some namespaces.
type somewhere struct {
	cache.Cache
	client.Reader
	namespaces []string
	err        error // of listening
	listeners  int
}

var errUnknownNamespace = errors.New("unknown namespace for the cache")

func (c *somewhere) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if !slices.Contains(c.namespaces, key.Namespace) {
		return errUnknownNamespace
	}
	return c.Reader.Get(ctx, key, o, options...)
}

func (c *somewhere) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	if o.ApplyOptions(options); !slices.Contains(c.namespaces, o.Namespace) {
		return errUnknownNamespace
	}
	return c.Reader.List(ctx, list, options...)
}

func (c *somewhere) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return &informer{of: c}, c.err
}

type informer struct {
	cache.Informer
	of *somewhere
}

func (i *informer) AddEventHandler(toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.of.listeners++
	return nil, nil
}

func (s *stage) feeder() *feeder {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	s.Cleanup(q.ShutDown)
	return &feeder{Operator: s.op, running: s.running, queue: q}
}

// drain has a pass over all that is enqueued.
func (s *stage) drain(q queue) {
	s.Helper()
	for q.Len() > 0 {
		key, _ := q.Get()
		if _, err := s.kind.Reconcile(s.Context(), key); err != nil {
			s.Errorf("%s: %v", key, err)
		}
		q.Done(key)
	}
}

// What is no longer watched is neither remembered nor counted.
func TestWhatIsNoLongerWatchedIsForgotten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.declare(registered(handler.Spec{ID: "set/a", On: handler.Create}, nil, succeed))
	for _, namespace := range []string{"in", "out"} {
		s.pass(s.create(namespace, "of-"+namespace))
	}
	if c := s.op.Counts("set/a"); c.Succeeded != 2 {
		t.Fatalf("counts %+v", c)
	}
	if err := s.op.Declare(Declaration{Registrations: []handler.Registration{
		registered(handler.Spec{ID: "set/a", On: handler.Create, Namespaces: []string{"in"}}, nil, succeed),
	}}); err != nil {
		t.Fatal(err)
	}
	f := s.feeder()
	cached := &somewhere{Reader: s.server, namespaces: []string{"in"}}
	if err := f.swap(t.Context(), duty{set: s.op.declared.sets[0]}, cached); err != nil {
		t.Fatal(err)
	}
	s.drain(f.queue)
	if c, n := s.op.Counts("set/a"), len(s.kind.known()); c.Succeeded != 1 || n != 1 || cached.listeners != 1 {
		t.Errorf("counts %+v, %d objects are known, %d listeners", c, n, cached.listeners)
	}
}

// A cache that cannot be listened to is no cache: passes go on with the one
// before, and the next try begins from there.
func TestACacheThatCannotBeListenedToIsNotUsed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	set := s.declare(registered(handler.Spec{ID: "set/a", On: handler.Create}, nil, succeed))
	before := s.kind.view.Load()
	f := s.feeder()
	broken := &somewhere{Reader: s.server, err: context.Canceled}
	stopped, cancelled := context.WithCancel(t.Context())
	cancelled()
	for _, step := range []context.Context{t.Context(), stopped} {
		if err := f.swap(step, duty{set: set}, broken); !errors.Is(err, context.Canceled) {
			t.Errorf("listening failed, and the answer is %v", err)
		}
		if s.kind.view.Load() != before || f.informers != nil {
			t.Error("passes go by a cache that nobody listens to")
		}
	}
}

// A namespace that a kind doesn't watch is none of its business, and one that
// is stopped wakes nobody.
func TestWakeLooksOnlyWhereItWatches(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	set := s.declare(registered(handler.Spec{ID: "set/a", On: handler.Create, Namespaces: []string{"in"}}, nil, succeed))
	var enqueued []string
	s.kind.enqueue = func(key reconcile.Request) { enqueued = append(enqueued, key.Name) }
	s.kind.view.Store(s.op.newView(s.kind, set, Removal{}, &somewhere{Reader: s.server, namespaces: []string{"in"}}))
	s.create("in", "one")
	s.create("out", "two")
	for _, namespace := range []string{"in", "out"} {
		if err := s.op.Wake(t.Context(), namespace); err != nil {
			t.Errorf("%s: %v", namespace, err)
		}
	}
	s.running.stop()
	if err := s.op.Wake(t.Context(), "in"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(enqueued, []string{"one"}) {
		t.Errorf("enqueued %v, want one", enqueued)
	}
}
