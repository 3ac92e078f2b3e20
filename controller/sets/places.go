package sets

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// places are those in .status that sets write to, with the name of the first
// set that does. Sets come as Service.list has them: ClusterHandlerSets, which
// may meet all others, go before HandlerSets, which meet each other only in
// their own namespace.
type places map[place]string

// place is one in .status of the objects of a kind.
type place struct {
	kind      string
	namespace string // empty: in all of them
	path      string
	within    bool // a place further inside is written to, not this one
}

// judge says so where a handler writes to a place that one of an earlier set
// writes to, or to one inside of it, or around it.
func (p places) judge(v *verdict) {
	if v.resource == nil || v.set.GetDeletionTimestamp() != nil {
		return
	}
	var shared []string
	var own []place
	for i := range v.set.Declared().Handlers {
		h := &v.set.Declared().Handlers[i]
		var paths []string
		if h.Status.Place() != v1alpha1.TargetAnnotation {
			paths = append(paths, h.StatusPath())
		}
		if kind := h.ConditionType(); kind != "" {
			paths = append(paths, "conditions["+kind+"]")
		}
		for _, path := range paths {
			at := place{kind: v.resource.kind.GroupKind().String(), namespace: v.set.GetNamespace(), path: path}
			if owner := p.owner(at); owner != "" {
				shared = append(shared, fmt.Sprintf(".status.%s is also written to by %s", path, owner))
			}
			own = append(own, at)
		}
	}
	for _, at := range own {
		p.add(at, nameOf(v.set))
	}
	if len(shared) > 0 {
		v.find("StatusShared", metav1.ConditionTrue, "SamePath", "%s: the last to run replaces what the other has written; set status.path or status.conditionType",
			strings.Join(shared, "; "))
	}
}

// owner returns the set that writes to a place, inside of it or around it.
func (p places) owner(at place) string {
	for _, namespace := range []string{"", at.namespace} {
		at.namespace = namespace
		inside := at
		inside.within = true
		if owner, ok := p[inside]; ok {
			return owner
		}
		for around := range at.around {
			if owner, ok := p[around]; ok {
				return owner
			}
		}
	}
	return ""
}

// add notes who writes to a place.
func (p places) add(at place, owner string) {
	for around := range at.around {
		around.within = around.path != at.path
		if _, ok := p[around]; !ok {
			p[around] = owner
		}
	}
}

// around yields a place and those that it is inside of.
func (at place) around(yield func(place) bool) {
	path := at.path
	for end := range path {
		if path[end] != '.' {
			continue
		}
		if at.path = path[:end]; !yield(at) {
			return
		}
	}
	at.path = path
	yield(at)
}
