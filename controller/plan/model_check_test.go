package plan_test

import (
	"slices"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// always holds after every operation.
func (m *model) always() {
	o := m.server.object
	if o == nil {
		return
	}
	if o.annotations[otherKey] != m.foreign {
		m.failf("another operator's marker was touched")
	}
	if o.name == "" {
		m.failf("no name") // a fault of the model
	}
	for i, f := range o.finalizers {
		if slices.Contains(o.finalizers[:i], f) {
			m.failf("finalizer %s twice", f)
		}
	}
}

// settled is what holds when nothing is left to do.
func (m *model) settled() {
	o := m.server.object
	if o == nil {
		return
	}
	if o.deleting {
		if o.held() {
			m.failf("stuck in deletion")
		}
		return
	}
	handlers := m.handlers(o, nil)
	needed := slices.ContainsFunc(handlers, func(h plan.Handler) bool { return h.Selected && h.On&plan.OnDelete != 0 })
	if o.held() != needed {
		m.failf("finalizer there: %v, needed: %v", o.held(), needed)
	}
	if m.void[o.uid] {
		return
	}
	for i := range handlers {
		m.served(o, &handlers[i])
	}
	m.consistent(o, handlers)
}

// served: a handler that selects the object has seen what it is declared for.
func (m *model) served(o *object, h *plan.Handler) {
	f := m.memory(o.uid).facts[h.ID]
	digest := digestFor(h, o.essence())
	switch {
	case !h.Selected || h.On&(plan.OnCreate|plan.OnUpdate) == 0:
	case f.once && f.revision < h.Revision:
		m.failf("%s ran in revision %d, not in %d", h.ID, f.revision, h.Revision)
	case f.seen == "" && f.adopted == digest:
	case h.On&plan.OnUpdate == 0 && (f.once || f.adopted != ""):
	case f.seen != digest:
		m.failf("%s last saw %q, adopted %q, the object is %q", h.ID, f.seen, f.adopted, digest)
	}
}

// consistent: the marker says of a settled object what is so, and only that.
func (m *model) consistent(o *object, handlers []plan.Handler) {
	marker, err := prefix.Read(o.annotations)
	if err != nil {
		m.failf("unreadable: %v", err)
	}
	trusted := plan.Trust(marker, o.identity())
	if trusted.Handled != marker.Handled || trusted.Progress != marker.Progress {
		m.failf("a marker that belongs to another object stayed")
	}
	if marker.Base != "" || marker.Retry != "" {
		m.failf("base %q or retry %q stayed", marker.Base, marker.Retry)
	}
	want := storage.State("")
	for _, h := range handlers {
		r, ok := marker.Record(h.ID)
		switch {
		case ok && r.State != storage.Failed:
			m.failf("the record of %s stayed: %s", h.ID, r.State)
		case ok:
			want = storage.Failed
		case h.Selected && want == "" && marker.Handled != nil:
			want = storage.Succeeded
		}
	}
	if marker.Progress != nil && want == "" && slices.ContainsFunc(handlers, func(h plan.Handler) bool { return h.Selected }) {
		want = storage.Succeeded // the failed record is one of a handler that is gone
	}
	if marker.State != want {
		m.failf("state is %q, want %q", marker.State, want)
	}
}
