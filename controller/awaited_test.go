package controller

import (
	"slices"
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
)

// A HandlerSet's namespace may be called as a ClusterHandlerSet.
func TestAGroupHasTheHandlersOfOneSet(t *testing.T) {
	t.Parallel()
	set := &selection.Set{}
	for _, id := range []string{"a/c", "a/b/c", "a/b/d", "ab/c", "a"} {
		set.Handlers = append(set.Handlers, &selection.Handler{Registration: handler.Registration{Spec: handler.Spec{ID: id}}})
	}
	for prefix, want := range map[string][]string{"a/": {"a/c"}, "a/b/": {"a/b/c", "a/b/d"}, "b/": nil} {
		var ids []string
		for _, h := range group(set, prefix) {
			ids = append(ids, h.Spec.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s: %q, want %q", prefix, ids, want)
		}
	}
}
