package controller

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// view is what a pass over an object of a kind goes by. It doesn't change;
// what is declared anew makes another view, which the next pass goes by.
type view struct {
	serial  int64 // of this view among all
	set     *selection.Set
	ids     []string // of set.Handlers
	tracked []string // ids, and those of their groups
	groups  [][]int  // the members of each group, as indexes of ids
	removal Removal
	places  []places      // as set.Handlers
	lines   []*limiter    // all in places, each once
	cached  client.Reader // shares its objects: never change them
}

// Removal is what objects of a kind have to be rid of.
type Removal struct {
	// IDs are handlers that are no more.
	IDs []string
	// All tells that no handler of the kind is left at all.
	All bool
	// Namespaces are where the handlers were; nil: everywhere.
	Namespaces []string

	serial int64 // greater than that of any removal before whose IDs or extent were less
}

// same tells whether nothing else is to be removed.
func (r Removal) same(other Removal) bool {
	return r.All == other.All && r.serial == other.serial && slices.Equal(r.IDs, other.IDs) && slices.Equal(r.Namespaces, other.Namespaces)
}

func (r Removal) empty() bool { return len(r.IDs) == 0 && !r.All }

var serials atomic.Int64

// newView makes the view of a kind by what is declared.
func (op *Operator) newView(k *kind, set *selection.Set, removal Removal, cached client.Reader) *view {
	v := &view{serial: serials.Add(1), set: set, removal: removal, cached: within(set, cached)}
	before := k.view.Load()
	for _, h := range set.Handlers {
		v.ids = append(v.ids, h.Spec.ID)
		limit := h.Spec.Concurrency
		if limit == 0 {
			limit = max(1, op.options.Workers*3/4)
		}
		own := before.limiter(h.Spec.ID)
		if own == nil {
			own = newLimiter(limit, enqueue)
		}
		own.join(k)
		own.resize(func() int { return limit })
		p := places{own}
		if h.Gate != nil {
			p = append(p, op.gates.of(h.Gate, k))
		}
		v.places = append(v.places, p)
	}
	v.group()
	seen := map[*limiter]bool{}
	for _, p := range v.places {
		for _, l := range p {
			if !seen[l] {
				seen[l] = true
				v.lines = append(v.lines, l)
			}
		}
	}
	return v
}

// group has the handlers of each HandlerSet counted together as well: they
// share the part of their IDs up to the last slash.
func (v *view) group() {
	v.tracked = slices.Clone(v.ids)
	at := map[string]int{}
	for i, id := range v.ids {
		slash := strings.LastIndexByte(id, '/')
		if slash < 0 {
			continue
		}
		name := id[:slash+1]
		g, ok := at[name]
		if !ok {
			g = len(v.groups)
			at[name] = g
			v.groups = append(v.groups, nil)
			v.tracked = append(v.tracked, name)
		}
		v.groups[g] = append(v.groups[g], i)
	}
}

// standings are where the handlers stand, and after them their groups.
func (v *view) standings(states []storage.State) []storage.State {
	if len(v.groups) == 0 {
		return states
	}
	all := make([]storage.State, 0, len(v.tracked))
	all = append(all, states...)
	for _, members := range v.groups {
		worst := storage.State("")
		for _, i := range members {
			worst = plan.Worst(worst, states[i])
		}
		all = append(all, worst)
	}
	return all
}

// limiter returns that of a handler; nil: there is none.
func (v *view) limiter(id string) *limiter {
	if v == nil {
		return nil
	}
	for i := range v.ids {
		if v.ids[i] == id {
			return v.places[i][0]
		}
	}
	return nil
}

// unline takes an object out of all lines.
func (v *view) unline(t ticket) {
	if v == nil {
		return
	}
	for _, l := range v.lines {
		l.forget(t)
	}
}

func (v *view) handler(id string) *selection.Handler {
	for _, h := range v.set.Handlers {
		if h.Spec.ID == id {
			return h
		}
	}
	return nil
}

// watches tells whether objects of a namespace may be in the view's cache.
func (v *view) watches(namespace string) bool {
	only := v.set.Namespaces()
	return only == nil || slices.Contains(only, namespace)
}

// within returns the reader of what a set can select. To a cache of some
// namespaces, one that it doesn't know is an error; here nothing is in it.
func within(set *selection.Set, cached client.Reader) client.Reader {
	if only := set.Namespaces(); only != nil {
		return &namespaced{Reader: cached, only: only, resource: schema.GroupResource{Group: set.Kind.Group, Resource: set.Kind.Kind}}
	}
	return cached
}

type namespaced struct {
	client.Reader
	only     []string
	resource schema.GroupResource
}

// Get implements client.Reader.
func (n *namespaced) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if !slices.Contains(n.only, key.Namespace) {
		return apierrors.NewNotFound(n.resource, key.Name)
	}
	return n.Reader.Get(ctx, key, object, options...)
}

func enqueue(t ticket) { t.kind.enqueue(t.key) }
