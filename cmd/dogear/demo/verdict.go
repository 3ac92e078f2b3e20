package demo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrUnexpected tells that an object did not end as expected.
var ErrUnexpected = errors.New("not all objects ended as expected")

// judge tells which objects have not ended yet, and what of those that have is
// not as expected.
func judge(objects []object, expected []Expected) (open, wrong []string) {
	for _, e := range expected {
		o, seen := find(objects, e.Object)
		switch {
		case !seen:
			open = append(open, e.Object+" was not handled at all")
		case o.State == gone && !e.Gone:
			wrong = append(wrong, e.Object+" is gone, though nobody deleted it")
		case o.State == gone:
		case e.Gone:
			open = append(open, fmt.Sprintf("%s is still there (%s)", e.Object, describe(o)))
		case !o.State.Finished():
			open = append(open, fmt.Sprintf("%s has not ended (%s)", e.Object, describe(o)))
		default:
			wrong = append(wrong, mismatches(o, e)...)
		}
	}
	return open, wrong
}

func mismatches(o object, e Expected) (wrong []string) {
	for _, id := range slices.Sorted(maps.Keys(e.Handlers)) {
		i := slices.IndexFunc(o.Handlers, func(s standing) bool { return s.Handler == id })
		switch {
		case i < 0:
			wrong = append(wrong, fmt.Sprintf("%s: the handler %q did not run, expected was %s", e.Object, id, e.Handlers[id]))
		case o.Handlers[i].State != e.Handlers[id]:
			s := o.Handlers[i]
			text := fmt.Sprintf("%s: the handler %q is %s, expected was %s", e.Object, clean(id), clean(string(s.State)), e.Handlers[id])
			if s.Message != "" {
				text += ": " + clean(s.Message)
			}
			wrong = append(wrong, text)
		}
	}
	return wrong
}

func describe(o object) string {
	var words []string
	for _, s := range o.Handlers {
		words = append(words, clean(fmt.Sprintf("%s %s", s.Handler, s.State)))
	}
	if o.Deleting {
		words = append(words, "being deleted")
	}
	return strings.Join(words, ", ")
}
