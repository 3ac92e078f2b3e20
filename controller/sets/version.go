package sets

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// agree has one version of a resource count for all sets that name it, as the
// objects are the same in all versions. Sets that name another one are not in
// force.
func (all *verdicts) agree() {
	first := map[schema.GroupResource]*verdict{}
	for _, v := range all.sets {
		name := v.set.Declared().Resource.GroupResource()
		if v.resource != nil && (first[name] == nil || v.compare(first[name]) < 0) {
			first[name] = v
		}
	}
	for _, v := range all.sets {
		if v.resource == nil {
			continue
		}
		counts := first[v.set.Declared().Resource.GroupResource()]
		if v.decides && v.resource.kind != counts.resource.kind {
			v.conflict(counts)
		}
		v.resource = counts.resource
	}
}

// compare is negative where the version of v goes before that of another set.
// What a tenant can apply must not take other sets out of force: so those that
// cannot be used themselves, or are being deleted, decide only where there is no
// other, and what is done for all namespaces goes first. Of equals the oldest
// has it.
func (v *verdict) compare(other *verdict) int {
	first := func(holds func(*verdict) bool) int {
		switch a, b := holds(v), holds(other); {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(
		first(func(v *verdict) bool { return v.decides }),
		first(func(v *verdict) bool { return v.set.GetDeletionTimestamp() == nil }),
		first(func(v *verdict) bool { return v.served }),
		first(func(v *verdict) bool { return v.set.GetNamespace() == "" }),
		v.set.GetCreationTimestamp().Compare(other.set.GetCreationTimestamp().Time),
		cmp.Compare(v.set.GetNamespace(), other.set.GetNamespace()),
		cmp.Compare(v.set.GetName(), other.set.GetName()),
	)
}

// conflict takes a set out of force that names another version.
func (v *verdict) conflict(first *verdict) {
	v.usable, v.defaults, v.stalled = false, false, true
	v.findings = slices.DeleteFunc(v.findings, func(f finding) bool { return f.condition == v1alpha1.ConditionPermitted })
	v.find(v1alpha1.ConditionPermitted, metav1.ConditionFalse, "VersionConflict", "%s names version %s of the same resource: use one version in all sets",
		nameOf(first.set), first.resource.kind.Version)
}
