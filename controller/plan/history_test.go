package plan_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// TestMain raises the number of random histories from rapid's default to what
// takes some seconds, unless the command line says otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		_ = flag.Set("rapid.checks", "8000")
	}
	os.Exit(m.Run())
}

// TestTheRulesHoldInEveryHistory plays random histories of an object, its
// users, the webhook and the controller, and checks the rules 1, 2, 4, 5, 6
// and 10 of the design after each operation and when all work is done.
//
// A history that breaks a rule is shrunk and printed as a numbered list. To
// play it again, use the -rapid.failfile or -rapid.seed flag that is printed
// with it. A longer run: go test ./controller/plan -run EveryHistory -rapid.checks 200000
func TestTheRulesHoldInEveryHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"":        func(*rapid.T) { m.always() },
			"create":  m.create,
			"edit":    m.edit,
			"edit2":   m.edit,
			"tamper":  m.tamper,
			"pass":    m.look,
			"pass2":   m.look,
			"pass3":   m.look,
			"crash":   func(*rapid.T) { m.logf("restart"); m.crash() },
			"clock":   m.clock,
			"declare": m.declare,
			"delete":  m.remove,
			"ask":     m.ask,
			"settle":  func(*rapid.T) { m.quiesce() },
		})
		m.quiesce()
	})
}

// quiesce lets all work be done, and checks that it was; then that a restart
// finds nothing to write.
func (m *model) quiesce() {
	m.logf("settle")
	if o := m.server.object; o != nil && o.annotations[prefix.Key(storage.KeyPaused)] != "" {
		o = o.clone()
		delete(o.annotations, prefix.Key(storage.KeyPaused))
		m.server.store(o)
	}
	m.drain()
	m.settled()
	m.crash()
	writes := m.writes
	m.logf("restart and settle")
	m.drain()
	m.settled()
	claims := slices.ContainsFunc(m.specs, func(s *spec) bool { return s.claim && s.on&plan.OnResume != 0 })
	if m.writes != writes && !claims {
		m.failf("a restart wrote to a settled object")
	}
}

func (m *model) create(t *rapid.T) {
	if m.server.object != nil {
		t.Skip("there is one")
	}
	o := &object{name: "thing", annotations: map[string]string{}}
	o.spec, o.watched = rapid.IntRange(0, 2).Draw(t, "spec"), rapid.IntRange(0, 1).Draw(t, "watched")
	o.labelled = rapid.Bool().Draw(t, "label")
	copied := rapid.Bool().Draw(t, "copied")
	if copied {
		o.name = fmt.Sprintf("thing-%d", m.server.uids)
		maps.Copy(o.annotations, m.exported)
	}
	m.foreign = ""
	if rapid.Bool().Draw(t, "other operator") {
		m.foreign = `{"v":1,"uid":"uid-1","essence":"e0.0.true"}`
		o.hold(foreignFinal)
	}
	if delete(o.annotations, otherKey); m.foreign != "" {
		o.annotations[otherKey] = m.foreign
	}
	generated, webhook := rapid.Bool().Draw(t, "generateName"), rapid.Bool().Draw(t, "webhook")
	m.logf("create spec %d, watched %d, label %v, copied %v, generateName %v, webhook %v",
		o.spec, o.watched, o.labelled, copied, generated, webhook)
	if generated {
		o.name = ""
	}
	if webhook {
		m.admit(nil, o)
	}
	if m.allocate {
		o.allocated = "+ip"
	}
	m.server.create(o, generated)
	if webhook {
		m.attended(o, generated)
	}
}

// attended notes what admission of a birth knows.
func (m *model) attended(o *object, generated bool) {
	handlers := m.handlers(o, nil)
	o.facts = map[string]fact{}
	for _, h := range handlers {
		o.facts[h.ID] = fact{stamped: h.Selected && h.On&plan.OnCreate != 0}
	}
	if !generated {
		looked(&plan.Input{Object: o.seen(), Handlers: handlers}, o.facts)
	}
}

// store is a user's write, with or without the webhook.
func (m *model) store(o *object, webhook bool) {
	old := m.server.object
	if webhook {
		m.admit(old, o)
		if m.differs(old, o) && !o.deleting {
			o.facts = orEmpty(o.facts)
			looked(&plan.Input{Object: o.seen(), Handlers: m.handlers(o, nil)}, o.facts)
		}
	}
	m.server.store(o)
}

func (m *model) change(o *object, t *rapid.T) string {
	o.generation++
	switch what := rapid.SampledFrom([]string{"spec", "watched", "label", "status", "finalizer"}).Draw(t, "what"); what {
	case "spec":
		o.spec = rapid.IntRange(0, 2).Draw(t, "spec")
		return fmt.Sprint("spec to ", o.spec)
	case "watched":
		o.watched = 1 - o.watched
		return fmt.Sprint("watched to ", o.watched)
	case "label":
		o.labelled = !o.labelled
		return fmt.Sprint("label to ", o.labelled)
	case "finalizer":
		if o.release(foreignFinal); !o.deleting && !m.foreignHeld() {
			o.hold(foreignFinal)
		}
		return "the foreign finalizer"
	}
	o.generation--
	o.status++
	return "status"
}

func (m *model) foreignHeld() bool {
	for _, f := range m.server.object.finalizers {
		if f == foreignFinal {
			return true
		}
	}
	return false
}

func (m *model) edit(t *rapid.T) {
	if m.server.object == nil {
		t.Skip("no object")
	}
	o := m.server.object.clone()
	webhook := rapid.Bool().Draw(t, "webhook")
	m.logf("edit %s, webhook %v", m.change(o, t), webhook)
	m.store(o, webhook)
}

func (m *model) remove(t *rapid.T) {
	if m.server.object == nil || m.server.object.deleting {
		t.Skip("nothing to delete")
	}
	m.logf("delete")
	m.server.delete()
}

func (m *model) clock(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Hour, 30 * 24 * time.Hour, -time.Hour}).Draw(t, "step")
	m.logf("clock %s", step)
	m.now = m.now.Add(step)
}
