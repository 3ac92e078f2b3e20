package controller

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// stage is a kind whose passes a test runs one by one, on a server that keeps
// what it is given: for what the engine alone decides.
type stage struct {
	*testing.T
	op      *Operator
	running *running
	kind    *kind
	server  client.Client

	mu     sync.Mutex
	refuse func() error // called at each patch; nil: it is done
}

type (
	request = handler.Request[*unstructured.Unstructured]
	results = handler.Result
)

var widgets = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// errServer is that of a server which doesn't tell what became of a write.
var errServer = apierrors.NewInternalError(context.DeadlineExceeded)

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(widgets, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(widgets.GroupVersion().WithKind("WidgetList"), &unstructured.UnstructuredList{})
	metav1.AddToGroupVersion(scheme, widgets.GroupVersion())
	s.server = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			s.mu.Lock()
			refuse := s.refuse
			s.mu.Unlock()
			if refuse != nil {
				if err := refuse(); err != nil {
					return err
				}
			}
			return c.Patch(ctx, o, p, options...)
		},
	})
	var err error
	if s.op, err = New(Options{Domain: "example.com", Declared: true}); err != nil {
		t.Fatal(err)
	}
	s.kind = &kind{
		gvk: widgets, handling: t.Context(), prefix: s.op.prefix, budget: s.op.options.Budget, client: s.server,
		clock: s.op.options.Clock, chance: func() float64 { return 0 }, fence: func() int64 { return 0 }, leads: func() bool { return true },
		adopts:  func(h *selection.Handler, _ time.Time) bool { return h.Spec.Existing == handler.AdoptExisting },
		tracker: s.op.tracker, memory: newMemory(), enqueue: func(reconcile.Request) {},
	}
	s.running = s.start(s.kind)
	return s
}

// start has the operator take a kind for one that runs.
func (s *stage) start(k *kind) *running {
	r := &running{kind: k, ended: make(chan struct{}), changed: make(chan struct{})}
	r.context, r.stop = context.WithCancel(context.Background())
	s.Cleanup(r.stop)
	s.op.fleet.kinds[k.gvk.GroupKind()] = r
	return r
}

type registrations []handler.Registration

func (all *registrations) Add(r handler.Registration) { *all = append(*all, r) }

// registered is a handler for widgets.
func registered(spec handler.Spec, gate handler.Gate, run func(*request) (results, error)) handler.Registration {
	var all registrations
	spec.Kind = widgets
	handler.Register(&all, spec, func(_ context.Context, r *request) (results, error) { return run(r) })
	all[0].Gate = gate
	return all[0]
}

func succeed(*request) (results, error) { return results{}, nil }

// declare has passes go by these handlers.
func (s *stage) declare(all ...handler.Registration) *selection.Set {
	s.Helper()
	if err := s.op.Declare(Declaration{Registrations: all}); err != nil {
		s.Fatal(err)
	}
	set := s.op.declared.sets[0]
	v := s.op.newView(s.kind, set, Removal{}, s.server)
	s.kind.view.Store(v)
	s.op.gates.leave(s.kind, v.lines)
	return set
}

func (s *stage) create(namespace, name string) *unstructured.Unstructured {
	s.Helper()
	u := s.kind.empty()
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(types.UID("uid-of-" + name))
	u.Object["spec"] = map[string]any{"size": int64(1)}
	if err := s.server.Create(s.Context(), u); err != nil {
		s.Fatal(err)
	}
	return u
}

func (s *stage) get(u *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	fresh := s.kind.empty()
	if err := s.server.Get(s.Context(), client.ObjectKeyFromObject(u), fresh); err != nil {
		s.Fatal(err)
	}
	return fresh
}

func keyOf(u *unstructured.Unstructured) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(u)}
}

func (s *stage) pass(u *unstructured.Unstructured) {
	s.Helper()
	if _, err := s.kind.Reconcile(s.Context(), keyOf(u)); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) marker(u *unstructured.Unstructured) storage.Marker {
	s.Helper()
	m, err := s.op.prefix.Read(s.get(u).GetAnnotations())
	if err != nil {
		s.Fatal(err)
	}
	return m
}

func (s *stage) refusing(f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// sluice is a gate that is open to so many.
type sluice struct {
	mu       sync.Mutex
	capacity int
	watchers []*func()
}

func (g *sluice) Capacity() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.capacity
}

func (g *sluice) OnChange(f func()) (cancel func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watchers = append(g.watchers, &f)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.watchers = slices.DeleteFunc(g.watchers, func(w *func()) bool { return w == &f })
	}
}

func (g *sluice) set(capacity int) {
	g.mu.Lock()
	g.capacity = capacity
	watchers := slices.Clone(g.watchers)
	g.mu.Unlock()
	for _, f := range watchers {
		(*f)()
	}
}

func (g *sluice) watched() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.watchers)
}
