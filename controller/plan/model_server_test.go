package plan_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

const (
	prefix       storage.Prefix = "dogear.test"
	otherKey                    = "dogear.other/handled"   // another operator's marker
	foreignFinal                = "example.com/protection" // another owner's finalizer
)

// object is one version of the model's only object.
type object struct {
	uid, name     string
	spec, watched int
	labelled      bool
	allocated     string // set by the server at creation
	status        int
	deleting      bool
	generation    int64
	version       int
	created       int // its first version
	annotations   map[string]string
	finalizers    []string

	facts  map[string]fact // what it carries, by handler
	forged bool            // and whether that is what somebody made up
}

func (o *object) clone() *object {
	c := *o
	c.annotations, c.finalizers = maps.Clone(o.annotations), slices.Clone(o.finalizers)
	c.facts = maps.Clone(o.facts)
	return &c
}

func (o *object) birth() string   { return fmt.Sprintf("e%d.%d.%v", o.spec, o.watched, o.labelled) }
func (o *object) essence() string { return o.birth() + o.allocated }
func (o *object) held() bool      { return slices.Contains(o.finalizers, prefix.Finalizer()) }

func (o *object) identity() storage.Identity {
	return storage.Identity{UID: o.uid, Namespace: "ns", Name: o.name, Kind: "Thing"}
}

func (o *object) seen() plan.Object {
	return plan.Object{
		Identity: o.identity(), Generation: o.generation, Deleting: o.deleting, Held: o.held(),
		Essence: o.essence(), Birth: o.birth(),
	}
}

func (o *object) hold(finalizer string) {
	if !slices.Contains(o.finalizers, finalizer) {
		o.finalizers = append(o.finalizers, finalizer)
	}
}

func (o *object) release(finalizer string) {
	o.finalizers = slices.DeleteFunc(o.finalizers, func(f string) bool { return f == finalizer })
}

func (o *object) apply(changes []storage.Change) {
	for _, c := range changes {
		switch {
		case c.Same:
		case c.New == "":
			delete(o.annotations, c.Key)
		default:
			o.annotations[c.Key] = c.New
		}
	}
}

// server keeps the object and its versions.
type server struct {
	object   *object // nil: there is none
	versions []*object
	version  int
	uids     int
}

// store makes o the newest version. An object in deletion that nothing holds
// is gone with that.
func (s *server) store(o *object) {
	s.version++
	o.version = s.version
	if s.object == nil || s.object.uid != o.uid {
		s.versions = nil
	}
	s.object = o
	s.versions = append(s.versions, o)
	if o.deleting && len(o.finalizers) == 0 {
		s.object, s.versions = nil, nil
	}
}

func (s *server) create(o *object, generated bool) {
	s.uids++
	o.uid = fmt.Sprintf("uid-%d", s.uids)
	if generated {
		o.name = fmt.Sprintf("generated-%d", s.uids)
	}
	o.generation, o.created = 1, s.version+1
	s.store(o)
}

func (s *server) delete() {
	o := s.object.clone()
	o.deleting = true
	s.store(o)
}

// write is the controller's write, guarded by the uid, by the marker's
// documents, and where the finalizer goes by the version that was looked at.
func (s *server) write(view *object, changes []storage.Change, f plan.Finalizer) bool {
	if s.object == nil || s.object.uid != view.uid {
		return false
	}
	if f == plan.Remove && s.object.version != view.version {
		return false
	}
	if f == plan.Add && s.object.deleting {
		return false
	}
	for _, c := range changes {
		if now, ok := s.object.annotations[c.Key]; ok != c.Was || now != c.Old {
			return false
		}
	}
	o := s.object.clone()
	o.apply(changes)
	switch f {
	case plan.Add:
		o.hold(prefix.Finalizer())
	case plan.Remove:
		o.release(prefix.Finalizer())
	}
	s.store(o)
	return true
}
