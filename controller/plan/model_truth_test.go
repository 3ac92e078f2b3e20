package plan_test

import (
	"maps"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// fact is what is true of one handler on one object, whatever its marker says.
type fact struct {
	seen     string // digest of the last attempt as Create or Update
	finished string // digest that it finished, while it has begun nothing else since
	revision int64  // in which it finished
	once     bool   // it finished something
	adopted  string // digest that counted as finished without a run
	stamped  bool   // admission saw the object's birth
	deleted  bool   // finished as Delete
	tried    string // cause and digest of the attempts counted in
	tries    int
	asked    bool // a person asked for a repetition
}

// persisted: the object now carries all that the process knows.
func (m *model) persisted(uid string) {
	if o := m.server.object; o != nil && o.uid == uid {
		o.facts, o.forged = maps.Clone(m.memory(uid).facts), false
	}
}

// carried is what the object carries of a fact at present.
func (m *model) carried(uid, id string) fact {
	if o := m.server.object; o != nil && o.uid == uid {
		return o.facts[id]
	}
	return fact{}
}

// started checks that an attempt may happen, and notes it.
func (m *model) started(uid string, h *plan.Handler, due plan.Due) {
	facts := m.memory(uid).facts
	f := facts[h.ID]
	defer func() { facts[h.ID] = f }()
	raised := h.Revision > f.revision
	if free := f.asked || m.void[uid]; !free {
		m.mayStart(f, uid, h, due, raised)
	}
	if tried := string(due.Cause) + due.Digest; f.tried != tried || raised || f.asked {
		f.tried, f.tries = tried, 0
	}
	f.tries++
	// What is owed as Resume is owed anew by a restart.
	counts := m.spec(h.ID).claim && due.Cause != storage.Resume && !m.void[uid]
	if counts && h.Retry.Limit > 0 && f.tries > h.Retry.Limit {
		m.failf("%s was started %d times, its limit is %d", h.ID, f.tries, h.Retry.Limit)
	}
	switch due.Cause {
	case storage.Delete:
		f.deleted = false
	case storage.Resume:
	default:
		if f.asked {
			f.once = due.Cause == storage.Update // what failed counts as not finished again
		}
		f.seen, f.finished = due.Digest, ""
	}
	f.asked = false
}

func (m *model) mayStart(f fact, uid string, h *plan.Handler, due plan.Due, raised bool) {
	switch due.Cause {
	case storage.Delete:
		if f.deleted {
			m.failf("%s ran as Delete though it had finished that", h.ID)
		}
		return
	case storage.Resume:
		return
	case storage.Create:
		if f.once && !raised {
			m.failf("%s ran as Create though it had finished once", h.ID)
		}
	case storage.Update:
		if !f.once && f.adopted == "" && f.seen == "" && m.carried(uid, h.ID).adopted == "" {
			m.failf("%s ran as Update though it had never finished", h.ID)
		}
	}
	if f.finished == due.Digest && f.seen == due.Digest && !raised {
		m.failf("%s ran again for %s, which it had finished", h.ID, due.Digest)
	}
}

// ended notes what became of an attempt, or of one that a crash ended.
func (m *model) ended(uid string, h *plan.Handler, cause storage.Cause, digest string, state storage.State) {
	facts := m.memory(uid).facts
	f := facts[h.ID]
	defer func() { facts[h.ID] = f }()
	switch {
	case state == storage.Waiting:
		f.tries--
	case !state.Finished():
	case cause == storage.Delete:
		f.deleted = true
	case cause == storage.Resume:
		f.tried = ""
	default:
		f.finished, f.revision, f.once, f.tried = digest, h.Revision, true, ""
	}
}

// looked notes what a marker has to say after a look without any run: who
// was adopted, and whose unfinished record went.
func looked(in *plan.Input, facts map[string]fact) {
	if in.Object.Deleting {
		return
	}
	selected := map[string]bool{}
	for _, h := range in.Handlers {
		f := facts[h.ID]
		selected[h.ID] = h.Selected
		adopts := h.On&plan.OnCreate == 0 || (h.Adopt && !f.stamped)
		if h.Selected && h.On&(plan.OnCreate|plan.OnUpdate) != 0 && adopts && f.seen == "" && !f.once && f.adopted == "" {
			f.adopted = digestFor(&h, in.Object.Essence)
			facts[h.ID] = f
		}
	}
	for id, f := range facts {
		if selected[id] {
			continue
		}
		f.tried = ""
		if !f.once && f.adopted == "" {
			f.seen, f.stamped = "", false // will be taken for one that never began
		}
		facts[id] = f
	}
}

func digestFor(h *plan.Handler, essence string) string {
	if h.Digest != "" {
		return h.Digest
	}
	return essence
}
