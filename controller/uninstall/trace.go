package uninstall

import "k8s.io/apimachinery/pkg/types"

// trace is what is known of an object from which something was taken. Several looks
// meet the same objects, and may find that some are gone: by their traces each is
// counted once.
type trace struct {
	released, cleaned bool
	look              int // that has met it last
}

func (r *run) tracesOf(t target) map[types.UID]*trace {
	name := t.String()
	if r.traces[name] == nil {
		r.traces[name] = map[types.UID]*trace{}
	}
	return r.traces[name]
}

// trace notes that the look has met an object, and what came of it. It tells whether
// this is the first time that its finalizer was taken off.
func (l *look) trace(uid types.UID, o outcome) (first bool) {
	known := l.traces[uid]
	if known == nil {
		if o.count() == 0 {
			return false
		}
		known = &trace{}
		l.traces[uid] = known
	}
	first = o.released && !known.released
	known.look, known.released, known.cleaned = l.number, known.released || o.released, known.cleaned || o.cleaned
	return first
}

// sum writes into the result what all looks so far have found, and returns how many
// objects are left.
func (l *look) sum(to *Resource) (left int) {
	to.Released, to.Cleaned, to.Left = 0, 0, 0
	gone := 0
	for _, known := range l.traces {
		if known.released {
			to.Released++
		}
		if known.cleaned {
			to.Cleaned++
		}
		if known.look != l.number {
			gone++
		}
	}
	for i := range l.run.result.Left {
		if at := &l.run.result.Left[i]; at.Resource == to.Resource && at.Name != "" {
			to.Left++
		}
	}
	to.Objects = max(to.Objects, l.seen+gone)
	return to.Left
}
