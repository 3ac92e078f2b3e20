package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// handlerIDs are those that a history may declare, in this order.
var handlerIDs = []string{"a", "b", "c"}

// spec is one handler as its author declared it.
type spec struct {
	id       string
	on       plan.On
	labelled bool // selects only labelled objects
	fields   bool // watches object.watched only
	revision int64
	adopt    bool
	claim    bool
	retry    plan.Retry
}

func (s *spec) String() string {
	causes := []string{}
	for i, name := range []string{"Create", "Update", "Delete", "Resume"} {
		if s.on&(1<<i) != 0 {
			causes = append(causes, name)
		}
	}
	text := s.id + " on " + strings.Join(causes, "|")
	for i, set := range []bool{s.labelled, s.fields, s.adopt, s.claim} {
		if set {
			text += []string{" labelled", " fields", " adopt", " claim"}[i]
		}
	}
	return fmt.Sprintf("%s revision %d limit %d timeout %s", text, s.revision, s.retry.Limit, s.retry.Timeout)
}

func drawSpec(t *rapid.T, id string) *spec {
	return &spec{
		id:       id,
		on:       plan.On(rapid.IntRange(1, 15).Draw(t, "on")),
		labelled: rapid.Bool().Draw(t, "labelled"),
		fields:   rapid.Bool().Draw(t, "fields"),
		adopt:    rapid.IntRange(0, 3).Draw(t, "adopt") == 1,
		claim:    rapid.IntRange(0, 2).Draw(t, "claim") == 1,
		retry: plan.Retry{
			Limit: rapid.IntRange(0, 3).Draw(t, "limit"), Initial: time.Second, Factor: 2, Max: time.Minute,
			Timeout: time.Duration(rapid.IntRange(0, 1).Draw(t, "timeout")) * time.Minute,
		},
	}
}

// model is a server, its users, the webhook and the controller.
type model struct {
	t interface {
		Log(args ...any)
		Fatalf(format string, args ...any)
	}
	log      []string
	now      time.Time
	server   server
	exported map[string]string // annotations that a user kept
	allocate bool              // the server sets a field at creation
	specs    []*spec

	memories map[string]*memory // of the controller's process, by uid
	epoch    int                // version at the process's start
	floor    int                // versions before this one it can't see: what its predecessor wrote last
	written  int                // version of the controller's last write
	writes   int

	void    map[string]bool // objects whose forged state was all that was left
	foreign string          // another operator's marker, as it must stay
}

func newModel(t *rapid.T) *model {
	m := &model{
		t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), allocate: rapid.Bool().Draw(t, "allocate"),
		memories: map[string]*memory{}, void: map[string]bool{},
	}
	for _, id := range handlerIDs[:rapid.IntRange(1, len(handlerIDs)).Draw(t, "handlers")] {
		m.specs = append(m.specs, drawSpec(t, id))
		m.logf("declare %s", m.specs[len(m.specs)-1])
	}
	return m
}

// handlers are what the decision gets. Without a memory it is admission that
// asks, which owes no Resume.
func (m *model) handlers(o *object, mem *memory) []plan.Handler {
	handlers := make([]plan.Handler, len(m.specs))
	for i, s := range m.specs {
		handlers[i] = plan.Handler{
			ID: s.id, On: s.on, Selected: o.labelled || !s.labelled, Revision: s.revision, Adopt: s.adopt, Retry: s.retry,
			Resume: mem != nil && o.created <= m.epoch && !mem.finished[s.id],
		}
		if s.fields {
			handlers[i].Digest = fmt.Sprintf("f%d", o.watched)
		}
	}
	return handlers
}

func (m *model) spec(id string) *spec {
	if i := slices.IndexFunc(m.specs, func(s *spec) bool { return s.id == id }); i >= 0 {
		return m.specs[i]
	}
	return &spec{id: id}
}

// logf adds a line to the history; one that is not indented is a new operation.
func (m *model) logf(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

// failf ends the test with the history as a numbered list. The rule that is
// broken is the format alone: shrinking goes on as long as it stays the same.
func (m *model) failf(format string, args ...any) {
	var text strings.Builder
	fmt.Fprintf(&text, format+"\n", args...)
	n := 0
	for _, line := range m.log {
		if strings.HasPrefix(line, " ") {
			fmt.Fprintf(&text, "    %s\n", line)
			continue
		}
		n++
		fmt.Fprintf(&text, "%3d. %s\n", n, line)
	}
	if o := m.server.object; o != nil {
		fmt.Fprintf(&text, "object: %+v\n", *o)
	}
	m.t.Log(text.String())
	m.t.Fatalf("broken: %s", strings.ReplaceAll(format, "%", ""))
}

// drain lets everything due run, with success, until nothing is left to do.
func (m *model) drain() {
	succeed := func() plan.Outcome { return plan.Outcome{State: storage.Succeeded, After: -1} }
	for range 40 {
		o := m.server.object
		if o == nil {
			return
		}
		busy, next := m.pass(o, faults{outcome: succeed})
		switch {
		case busy:
		case next.IsZero():
			return
		default:
			m.now = next
		}
	}
	m.failf("no end of work")
}
