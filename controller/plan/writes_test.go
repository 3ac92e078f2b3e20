package plan_test

import (
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// scene is a model that a test plays by hand, with the webhook up.
func scene(t *testing.T, specs ...*spec) *model {
	t.Helper()
	for _, s := range specs {
		s.retry = plan.Retry{Initial: time.Second, Factor: 2}
	}
	return &model{t: t, now: noon, specs: specs, memories: map[string]*memory{}, void: map[string]bool{}}
}

func (m *model) birth() {
	o := &object{name: "thing", annotations: map[string]string{}}
	m.admit(nil, o)
	m.server.create(o, false)
	m.attended(o, false)
}

// work lets handlers run with these outcomes, then with success, until
// nothing is due, and returns how many writes that took.
func (m *model) work(outcomes ...storage.State) int {
	writes := m.writes
	next := func() plan.Outcome {
		o := plan.Outcome{State: storage.Succeeded, After: -1}
		if len(outcomes) > 0 {
			o.State, outcomes = outcomes[0], outcomes[1:]
		}
		return o
	}
	for m.server.object != nil {
		busy, again := m.pass(m.server.object, faults{outcome: next})
		if !busy && again.IsZero() {
			break
		}
		if !busy {
			m.now = again
		}
	}
	return m.writes - writes
}

// TestHowOftenTheControllerWrites holds the table of the design's section 3.
func TestHowOftenTheControllerWrites(t *testing.T) {
	one := &spec{id: "a", on: create | update}
	change := func(m *model, f func(o *object)) {
		o := m.server.object.clone()
		f(o)
		m.store(o, true)
	}
	for name, c := range map[string]struct {
		specs []*spec
		play  func(m *model) int
		want  int
	}{
		"create, one handler succeeds":       {[]*spec{one}, func(m *model) int { return m.work() }, 1},
		"two temporary errors, then success": {[]*spec{one}, func(m *model) int { return m.work(storage.Retrying, storage.Retrying) }, 3},
		"three handlers succeed":             {[]*spec{one, {id: "b", on: create}, {id: "c", on: create}}, func(m *model) int { return m.work() }, 1},
		"one fails for good, others succeed": {[]*spec{one, {id: "b", on: create}}, func(m *model) int { return m.work(storage.Failed) }, 1},
		"a claim costs one more":             {[]*spec{{id: "a", on: create, claim: true}}, func(m *model) int { return m.work() }, 2},
		"delete handler only: create":        {[]*spec{{id: "a", on: del}}, func(m *model) int { return m.work() }, 0},
		"update handler only: create":        {[]*spec{{id: "a", on: update}}, func(m *model) int { return m.work() }, 0},
		"delete handler only: delete":        {[]*spec{{id: "a", on: del}}, func(m *model) int { m.server.delete(); return m.work() }, 1},
		"delete handler fails once":          {[]*spec{{id: "a", on: del}}, func(m *model) int { m.server.delete(); return m.work(storage.Retrying) }, 2},
		"unselected object":                  {[]*spec{{id: "a", on: create | del, labelled: true}}, func(m *model) int { return m.work() }, 0},
		"a settled object, restarted":        {[]*spec{one}, func(m *model) int { m.work(); m.crash(); return m.work() }, 0},
		"a settled object, resumed":          {[]*spec{{id: "a", on: create | resume}}, func(m *model) int { m.work(); m.crash(); return m.work() }, 0},
		"a failed object, restarted":         {[]*spec{one}, func(m *model) int { m.work(storage.Failed); m.crash(); return m.work() }, 0},
		"status churn on a settled object":   {[]*spec{one}, func(m *model) int { m.work(); change(m, func(o *object) { o.status++ }); return m.work() }, 0},
		"a change, then success":             {[]*spec{one}, func(m *model) int { m.work(); change(m, func(o *object) { o.spec++ }); return m.work() }, 1},
		"a change that concerns nobody":      {[]*spec{{id: "a", on: create | update, fields: true}}, func(m *model) int { m.work(); change(m, func(o *object) { o.spec++ }); return m.work() }, 0},
		"a restart in back-off writes nothing": {[]*spec{one}, func(m *model) int {
			m.pass(m.server.object, faults{outcome: func() plan.Outcome { return plan.Outcome{State: storage.Retrying, After: -1} }})
			m.crash()
			writes := m.writes
			m.pass(m.server.object, faults{})
			return m.writes - writes
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := scene(t, c.specs...)
			m.birth()
			if got := c.play(m); got != c.want {
				t.Errorf("%d writes, want %d\n%v", got, c.want, m.log)
			}
			m.work()
			m.always()
			m.settled()
		})
	}
}
