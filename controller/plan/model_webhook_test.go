package plan_test

import (
	"maps"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// admit does to a new version of the object what the webhook does. old is nil
// for a CREATE; name is empty there with generateName.
func (m *model) admit(old, o *object) {
	if old == nil {
		m.admitNew(o)
		return
	}
	m.restore(old, o)
	if o.deleting || !m.differs(old, o) {
		return
	}
	m.void[o.uid] = m.void[o.uid] || o.forged // admission has no memory by which to doubt it
	read, _ := prefix.Read(o.annotations)
	in := plan.Input{Object: o.seen(), Marker: plan.Trust(read, o.identity()), Handlers: m.handlers(o, nil)}
	m.stamp(o, read, in)
}

func (m *model) admitNew(o *object) {
	maps.DeleteFunc(o.annotations, func(key, _ string) bool {
		return prefix.Owns(key) && key != prefix.Key(storage.KeyPaused)
	})
	read, _ := prefix.Read(o.annotations)
	in := plan.Input{Object: o.seen(), Marker: read, Handlers: m.handlers(o, nil)}
	in.Object.Essence = in.Object.Birth
	m.stamp(o, read, in)
}

// restore gives an object its state back, whatever the user made of it.
func (m *model) restore(old, o *object) {
	users := map[string]bool{prefix.Key(storage.KeyRetry): true, prefix.Key(storage.KeyPaused): true}
	maps.DeleteFunc(o.annotations, func(key, _ string) bool { return prefix.Owns(key) && !users[key] })
	for key, value := range old.annotations {
		if prefix.Owns(key) && !users[key] {
			o.annotations[key] = value
		}
	}
}

func (m *model) differs(old, o *object) bool {
	before, after := m.handlers(old, nil), m.handlers(o, nil)
	for i := range after {
		if before[i].Selected != after[i].Selected || before[i].Digest != after[i].Digest {
			return true
		}
	}
	return old.essence() != o.essence()
}

// stamp stamps, and checks that it is the same in a dry run and when the
// webhook is called again with what it left.
func (m *model) stamp(o *object, read storage.Marker, in plan.Input) {
	marker, finalizer := plan.Stamp(in, "jane")
	dry, _ := plan.Stamp(in, "jane")
	again := in
	again.Marker = marker
	repeated, _ := plan.Stamp(again, "jane")
	want := prefix.Render(marker)
	if !maps.Equal(want, prefix.Render(dry)) || !maps.Equal(want, prefix.Render(repeated)) {
		m.failf("a stamp is not deterministic and idempotent:\n%v\n%v\n%v", want, prefix.Render(dry), prefix.Render(repeated))
	}
	o.apply(prefix.Changes(o.annotations, read, marker))
	if finalizer == plan.Add {
		o.hold(prefix.Finalizer())
	}
}
