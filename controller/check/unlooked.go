package check

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/uninstall"
)

// unlooked names the sets that nobody looks at, as this installation is confined
// to some namespaces and they are in none of these: their columns are empty, or say
// that all was uninstalled. Others are another installation's. Nothing is named that
// whoever asks may not list.
func (r *round) unlooked(ctx context.Context) (texts []string) {
	p, err := r.place(ctx)
	if err != nil || !p.confined() {
		return nil
	}
	look := func(set v1alpha1.AnySet, why string) {
		if ready := meta.FindStatusCondition(set.Observed().Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason == uninstall.Uninstalled {
			texts = append(texts, nameOf(set)+": "+why)
		}
	}
	cluster := &v1alpha1.ClusterHandlerSetList{}
	_ = r.pages(ctx, cluster, func() bool {
		for i := range cluster.Items {
			look(&cluster.Items[i], "nobody looks at it: this installation works in some namespaces, where HandlerSets alone count")
		}
		return true
	})
	namespaced := &v1alpha1.HandlerSetList{}
	_ = r.pages(ctx, namespaced, func() bool {
		for i := range namespaced.Items {
			if set := &namespaced.Items[i]; !slices.Contains(p.settings.namespaces, set.Namespace) {
				look(set, "nobody looks at it: this installation does not work in its namespace")
			}
		}
		return true
	})
	return texts
}
