package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// fieldManager is the one name under which Dogear changes objects.
const fieldManager = "dogear"

const (
	// cacheWait is for how long a cache may lag behind the own last write
	// before the server is asked.
	cacheWait = 5 * time.Second
	// writeTimeout bounds a single write; it may outlast the operator's context.
	writeTimeout = 15 * time.Second
	// reportRefusals is after how many refused writes in a row an event says so.
	reportRefusals = 2
	// maxBlocked is the longest pause between two tries to write.
	maxBlocked = time.Minute
)

// kind is what is needed to handle the objects of one kind.
type kind struct {
	gvk      schema.GroupVersionKind
	handling context.Context //nolint:containedctx // that of its handlers, which may outlast that of a pass
	view     atomic.Pointer[view]
	prefix   storage.Prefix
	budget   storage.Budget
	client   client.Client // uncached
	schemas  *schemas
	recorder events.EventRecorder
	clock    clock.Clock
	chance   func() float64 // in [0,1)
	fence    func() int64
	leads    func() bool // else another process may
	adopts   func(h *selection.Handler, created time.Time) bool
	enqueue  func(reconcile.Request)
	tracker  *tracker
	// passes counts those under way by the serial of their view.
	passing sync.Mutex
	passes  map[int64]int
	// subresource tells that status has its own endpoint.
	subresource atomic.Bool

	*memory
}

// Reconcile is one pass over one object.
func (k *kind) Reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	if !k.leads() {
		k.takeCompletions(key.NamespacedName).answer(ErrNotLeading)
		return reconcile.Result{RequeueAfter: lapsedWait}, nil
	}
	v := k.enter()
	defer k.leave(v)
	for _, l := range v.lines {
		l.begin(ticket{k, key})
		defer l.end(ticket{k, key})
	}
	u, wait, err := k.fetch(ctx, v.cached, key)
	if err != nil || wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, err
	}
	if u == nil {
		k.takeCompletions(key.NamespacedName).answer(ErrSuperseded)
		k.forget(key.NamespacedName)
		return reconcile.Result{}, nil
	}
	p := &pass{
		kind: k, view: v, key: key, seen: u, mem: k.of(key.NamespacedName, u.GetUID()),
		log: logr.FromContextOrDiscard(ctx),
	}
	after, err := p.run(ctx)
	p.mem.completed.answer(ErrUnwritten) // what is left of them
	p.mem.completed = nil
	if err == nil && p.mem.refused == 0 {
		p.mem.looked.Store(v.serial)
	}
	return reconcile.Result{RequeueAfter: after}, err
}

// enter returns the view that a pass goes by, and counts the pass.
func (k *kind) enter() *view {
	k.passing.Lock()
	defer k.passing.Unlock()
	v := k.view.Load()
	if k.passes == nil {
		k.passes = map[int64]int{}
	}
	k.passes[v.serial]++
	return v
}

// leave ends a pass.
func (k *kind) leave(v *view) {
	k.passing.Lock()
	defer k.passing.Unlock()
	if k.passes[v.serial]--; k.passes[v.serial] == 0 {
		delete(k.passes, v.serial)
	}
}

// passesBefore counts the passes under way that go by an earlier view.
func (k *kind) passesBefore(serial int64) (n int) {
	k.passing.Lock()
	defer k.passing.Unlock()
	for of, count := range k.passes {
		if of < serial {
			n += count
		}
	}
	return n
}

// fetch returns the object to look at; nil: there is none. wait says to come
// back later: the cache has not seen the own last write yet.
func (k *kind) fetch(ctx context.Context, cached client.Reader, key reconcile.Request) (u *unstructured.Unstructured, wait time.Duration, err error) {
	u = k.empty()
	live := k.takeLive(key.NamespacedName)
	err = cached.Get(ctx, key.NamespacedName, u)
	mem := k.find(key.NamespacedName)
	switch {
	case err != nil && (live || mem != nil && mem.held.Load()):
		// It may only have left the selection, with our finalizer on it, or lie
		// in a namespace that the cache doesn't know.
		if u, err = k.get(ctx, key.NamespacedName); err != nil && live {
			k.readLive(key.NamespacedName)
		}
		return u, 0, err
	case apierrors.IsNotFound(err):
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("read %s from the cache: %w", key, err)
	case mem == nil:
		return u, 0, nil
	case mem.live, older(u.GetResourceVersion(), mem.version) && k.clock.Since(mem.wrote) > cacheWait:
		u, err = k.get(ctx, key.NamespacedName)
		return u, 0, err
	case older(u.GetResourceVersion(), mem.version):
		return nil, cacheWait, nil // its event comes first
	}
	return u, 0, nil
}

func (k *kind) empty() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.gvk)
	return u
}

// get reads from the server; nil: there is no such object.
func (k *kind) get(ctx context.Context, key types.NamespacedName) (*unstructured.Unstructured, error) {
	u := k.empty()
	if err := k.client.Get(ctx, key, u); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return u, nil
}

// managed reads which fields of an object were set under our name.
func (k *kind) managed(ctx context.Context, key types.NamespacedName) (map[string]any, error) {
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(k.gvk)
	if err := k.client.Get(ctx, key, partial); err != nil {
		return nil, fmt.Errorf("read the managed fields of %s: %w", key, err)
	}
	all := map[string]any{}
	for _, entry := range partial.ManagedFields {
		var fields map[string]any
		if entry.Manager != fieldManager || entry.FieldsV1 == nil {
			continue
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil, fmt.Errorf("read the managed fields of %s: %w", key, err)
		}
		all = mergeMap(all, fields)
	}
	return all, nil
}

// patch changes the object by a JSON patch. Only where the whole is wanted
// does the server send more than metadata.
func (k *kind) patch(ctx context.Context, key types.NamespacedName, body []byte, whole bool) (*unstructured.Unstructured, error) {
	if !k.leads() {
		return nil, errLapsed
	}
	ctx, cancel := writeContext(ctx)
	defer cancel()
	raw := client.RawPatch(types.JSONPatchType, body)
	if whole {
		u := k.empty()
		u.SetNamespace(key.Namespace)
		u.SetName(key.Name)
		return u, k.client.Patch(ctx, u, raw, client.FieldOwner(fieldManager))
	}
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(k.gvk)
	partial.Namespace, partial.Name = key.Namespace, key.Name
	if err := k.client.Patch(ctx, partial, raw, client.FieldOwner(fieldManager)); err != nil {
		return nil, err
	}
	partial.ManagedFields = nil
	metadata, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&partial.ObjectMeta)
	if err != nil {
		return nil, fmt.Errorf("decode the reply: %w", err)
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}, nil
}

// patchStatus changes status by a JSON patch, at its own endpoint if it has one.
func (p *pass) patchStatus(ctx context.Context, ops []operation) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("encode the patch: %w", err)
	}
	if !p.subresource.Load() {
		return p.patch(ctx, p.key.NamespacedName, body, true)
	}
	if !p.leads() {
		return nil, errLapsed
	}
	ctx, cancel := writeContext(ctx)
	defer cancel()
	u := p.empty()
	u.SetNamespace(p.key.Namespace)
	u.SetName(p.key.Name)
	err = p.client.Status().Patch(ctx, u, client.RawPatch(types.JSONPatchType, body), client.FieldOwner(fieldManager))
	return u, err
}

// writeContext lets a write of finished outcomes end also when the operator is
// told to stop.
func writeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}

// of returns what is known of an object. One of the same name that it has
// replaced is forgotten, with all that is counted of it.
func (k *kind) of(key types.NamespacedName, uid types.UID) *object {
	if before := k.find(key); before != nil && before.uid != uid {
		k.forget(key)
	}
	return k.memory.of(key, uid)
}

// forget drops what is known of an object that is no more.
func (k *kind) forget(key types.NamespacedName) {
	k.view.Load().unline(ticket{k, reconcile.Request{NamespacedName: key}})
	if o := k.memory.forget(key); o != nil {
		k.unblock(o)
		k.tracker.note(nil, o, nil, k.clock.Now())
	}
}

// block counts a refused write and returns how long to pause.
func (k *kind) block(o *object) time.Duration {
	if o.refused++; o.refused == reportRefusals {
		blockedObjects.Inc()
		k.tracker.block(o, true)
	}
	return min(time.Duration(float64(time.Second)*(1+k.chance()))<<min(o.refused-1, 6), maxBlocked)
}

func (k *kind) unblock(o *object) {
	if o.refused >= reportRefusals {
		blockedObjects.Dec()
		k.tracker.block(o, false)
		delete(o.reported, "refused")
	}
	o.refused = 0
}

// reportOnce posts an event about an object, once in this process.
func (k *kind) reportOnce(u *unstructured.Unstructured, topic, kind, reason, note string, args ...any) {
	o := k.of(client.ObjectKeyFromObject(u), u.GetUID())
	if o.reported[topic] {
		return
	}
	if o.reported == nil {
		o.reported = map[string]bool{}
	}
	o.reported[topic] = true
	report(k.recorder, u, kind, reason, topic, note, args...)
}

// eventText keeps the texts of handlers for Secrets out of events.
func (k *kind) eventText(text string) string {
	if k.gvk.Group == "" && k.gvk.Kind == "Secret" {
		return "see the log"
	}
	return text
}

var _ handler.Registry = (*Operator)(nil)
