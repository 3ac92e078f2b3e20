package controller

import (
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/selection"
)

// view is what a pass over an object of a kind goes by. It doesn't change;
// what is declared anew makes another view, which the next pass goes by.
type view struct {
	serial  int64 // of this view among all
	set     *selection.Set
	ids     []string // of set.Handlers
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
}

func (r Removal) empty() bool { return len(r.IDs) == 0 && !r.All }

var serials atomic.Int64

// newView makes the view of a kind by what is declared.
func (op *Operator) newView(k *kind, set *selection.Set, removal Removal, cached client.Reader) *view {
	v := &view{serial: serials.Add(1), set: set, removal: removal, cached: cached}
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
		own.resize(func() int { return limit })
		p := places{own}
		if h.Gate != nil {
			p = append(p, op.gates.of(h.Gate))
		}
		v.places = append(v.places, p)
	}
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

func (v *view) handler(id string) *selection.Handler {
	for _, h := range v.set.Handlers {
		if h.Spec.ID == id {
			return h
		}
	}
	return nil
}

func enqueue(t ticket) { t.kind.enqueue(t.key) }
