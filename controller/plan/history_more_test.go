package plan_test

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// look is a pass of the controller, with all that can go wrong in one.
func (m *model) look(t *rapid.T) {
	if m.server.object == nil {
		t.Skip("no object")
	}
	view := m.server.object
	first := max(m.memory(view.uid).version, m.floor)
	stale := slices.DeleteFunc(slices.Clone(m.server.versions), func(o *object) bool { return o.version < first })
	if len(stale) > 1 && rapid.IntRange(0, 3).Draw(t, "stale") == 1 {
		view = rapid.SampledFrom(stale).Draw(t, "version")
	}
	f := faults{outcome: func() plan.Outcome { return drawOutcome(t) }}
	fault := rapid.SampledFrom([]string{"", "", "", "crash", "dies", "unknown", "lost", "flush", "during"}).Draw(t, "fault")
	switch fault {
	case "crash":
		f.crash = rapid.IntRange(1, 2).Draw(t, "attempt")
	case "during":
		f.during = func() { m.meanwhile(t) }
	}
	f.dies, f.unknown, f.lost, f.flush = fault == "dies", fault == "unknown", fault == "lost", fault == "flush"
	m.logf("look at version %d of %d %s", view.version, m.server.version, fault)
	m.pass(view, f)
}

func (m *model) meanwhile(t *rapid.T) {
	if m.server.object == nil {
		return
	}
	o := m.server.object.clone()
	webhook := rapid.Bool().Draw(t, "webhook")
	m.logf("  meanwhile, edit %s, webhook %v", m.change(o, t), webhook)
	m.store(o, webhook)
}

func drawOutcome(t *rapid.T) plan.Outcome {
	return plan.Outcome{
		State: rapid.SampledFrom([]storage.State{
			storage.Succeeded, storage.Succeeded, storage.Retrying, storage.Waiting, storage.Failed,
		}).Draw(t, "outcome"),
		After: -1, Reason: "Drawn", Message: "by chance",
	}
}

// tamper changes what is Dogear's. Without the webhook, which restores it,
// wiped or forged state is put right by what the process remembers.
func (m *model) tamper(t *rapid.T) {
	if m.server.object == nil {
		t.Skip("no object")
	}
	o := m.server.object.clone()
	webhook := rapid.Bool().Draw(t, "webhook")
	how := rapid.SampledFrom([]string{"export", "wipe", "wipe some", "garbage", "foreign", "forge", "finalizer"}).Draw(t, "how")
	m.logf("tamper: %s, webhook %v", how, webhook)
	handled, progress := prefix.Key(storage.KeyHandled), prefix.Key(storage.KeyProgress)
	switch how {
	case "export":
		m.exported = maps.Clone(o.annotations)
		return
	case "finalizer":
		o.release(prefix.Finalizer())
		m.store(o, webhook)
		return
	case "wipe":
		maps.DeleteFunc(o.annotations, func(key, _ string) bool { return prefix.Owns(key) })
	case "wipe some":
		delete(o.annotations, rapid.SampledFrom([]string{handled, progress, prefix.Key(storage.KeyState)}).Draw(t, "key"))
	case "garbage":
		o.annotations[rapid.SampledFrom([]string{handled, progress}).Draw(t, "key")] = `{"v":1,`
	case "foreign":
		o.annotations[handled] = fmt.Sprintf(`{"v":1,"uid":"uid-0","essence":%q,"by":{"a":{},"b":{},"c":{}}}`, o.essence())
	case "forge":
		m.forge(o, t)
	}
	if !webhook && how == "wipe" {
		o.facts = nil
	}
	o.forged = o.forged || (!webhook && how != "wipe")
	m.store(o, webhook)
}

// forge writes what a user might think helps: everything is done.
func (m *model) forge(o *object, t *rapid.T) {
	marker := storage.Marker{Handled: &storage.Handled{Identity: o.identity(), Essence: o.essence(), By: map[string]storage.Entry{}}}
	for _, id := range handlerIDs {
		if rapid.Bool().Draw(t, "failed") {
			marker = marker.WithRecord(o.identity(), id, storage.Record{Cause: storage.Update, State: storage.Failed, Essence: o.essence()})
			continue
		}
		marker.Handled.By[id] = storage.Entry{}
	}
	maps.Copy(o.annotations, prefix.Render(marker))
}

// ask is what users may write: retry and paused.
func (m *model) ask(t *rapid.T) {
	if m.server.object == nil {
		t.Skip("no object")
	}
	o := m.server.object.clone()
	key, value := prefix.Key(storage.KeyPaused), "true"
	if rapid.Bool().Draw(t, "retry") {
		key, value = prefix.Key(storage.KeyRetry), rapid.SampledFrom([]string{"*", "a", "b"}).Draw(t, "ids")
	} else if o.annotations[key] != "" {
		value = ""
	}
	m.logf("annotate %s=%s", key, value)
	if o.annotations[key] = value; value == "" {
		delete(o.annotations, key)
	}
	m.store(o, rapid.Bool().Draw(t, "webhook"))
}

// declare changes what handlers there are and what they select.
func (m *model) declare(t *rapid.T) {
	id := rapid.SampledFrom(handlerIDs).Draw(t, "id")
	i := slices.IndexFunc(m.specs, func(s *spec) bool { return s.id == id })
	switch {
	case i < 0:
		m.specs = append(m.specs, drawSpec(t, id))
		slices.SortFunc(m.specs, func(a, b *spec) int { return int(a.id[0]) - int(b.id[0]) })
		m.logf("declare %s", m.spec(id))
		return
	case rapid.Bool().Draw(t, "gone"):
		m.specs = slices.Delete(m.specs, i, i+1)
		m.logf("drop %s", id)
		return
	}
	s := *m.specs[i]
	switch rapid.SampledFrom([]string{"revision", "filter", "fields", "on", "limit"}).Draw(t, "what") {
	case "revision":
		s.revision++
	case "filter":
		s.labelled = !s.labelled
	case "fields":
		s.fields = !s.fields
	case "on":
		s.on = plan.On(rapid.IntRange(1, 15).Draw(t, "on"))
	case "limit":
		s.retry.Limit = rapid.IntRange(0, 3).Draw(t, "limit")
	}
	m.specs[i] = &s
	m.logf("declare %s", &s)
}
