package sets

import (
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets/defaults"
)

// defaultsID is the ID of a set's defaults: no handler's has a dot after the
// last slash.
func defaultsID(set v1alpha1.AnySet) string {
	if set.GetNamespace() == "" {
		return set.GetName() + ".defaults"
	}
	return set.GetNamespace() + "/" + set.GetName() + ".defaults"
}

func (s *Service) defaults(v *verdict, match *match) (handler.Registration, error) {
	declared := v.set.Declared().Defaults
	spec := match.spec
	spec.ID, spec.Kind, spec.On = defaultsID(v.set), v.resource.kind, handler.Create
	if declared.OnUpdate() {
		spec.On |= handler.Update
	}
	r := match.registration(spec)
	r.Version = v.version(false)
	var err error
	r.Defaults, err = defaults.Compile(declared, s.namespace)
	return r, err
}
