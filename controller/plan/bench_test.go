package plan_test

import (
	"testing"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

func benchHandlers() []plan.Handler {
	return []plan.Handler{handler(create|update|del, named("a")), handler(create|update, named("b")), handler(update, named("c"), watching("f1"))}
}

func BenchmarkDecideSettled(b *testing.B) {
	in := held(at("e1", entry(handled("e1", "a", "b"), "c", storage.Entry{Digest: "f1"}), benchHandlers()...))
	if d := plan.Decide(in); len(d.Due) != 0 || d.Finalizer != plan.Keep {
		b.Fatalf("%+v", d)
	}
	b.ReportAllocs()
	for b.Loop() {
		plan.Decide(in)
	}
}

func BenchmarkDecideStamped(b *testing.B) {
	handlers := benchHandlers()
	m, _ := plan.Stamp(born(storage.Marker{}, handlers...), "jane")
	in := held(at("e1", m, handlers...))
	b.ReportAllocs()
	for b.Loop() {
		plan.Decide(in)
	}
}

func BenchmarkStampBirth(b *testing.B) {
	in := born(storage.Marker{}, benchHandlers()...)
	b.ReportAllocs()
	for b.Loop() {
		plan.Stamp(in, "jane")
	}
}

// BenchmarkApplyDecideChanges is what follows one outcome on a stamped object.
func BenchmarkApplyDecideChanges(b *testing.B) {
	h := handler(create|update, named("a"))
	m, _ := plan.Stamp(born(storage.Marker{}, h), "jane")
	annotations := prefix.Render(m)
	in := at("e1", m, h)
	due := plan.Decide(in).Due[0]
	b.ReportAllocs()
	for b.Loop() {
		in.Marker = plan.Apply(m, self, &h, due, plan.Outcome{State: storage.Succeeded}, noon, 0.5)
		d := plan.Decide(in)
		prefix.Changes(annotations, m, d.Marker)
	}
}
