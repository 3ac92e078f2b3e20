package check

import (
	"context"
	"strings"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// endpointsOf are the rights that calls of a set's endpoints need.
func endpointsOf(set v1alpha1.AnySet) (all []right) {
	if set.GetDeletionTimestamp() != nil {
		return nil // nothing is called any more
	}
	for i := range set.Declared().Handlers {
		h := &set.Declared().Handlers[i].HTTP
		if h.Service != nil {
			all = append(all, right{resource: "services", name: h.Service.Name, namespace: h.ServiceNamespace(set), verb: "get"})
		}
		for _, ref := range []*v1alpha1.SecretReference{h.SecretRef, h.CASecretRef, h.ClientCertificateSecretRef} {
			if ref != nil {
				all = append(all, right{resource: "secrets", name: ref.Name, namespace: h.SecretNamespace(set, ref), verb: "get"})
			}
		}
	}
	return all
}

// writesStatus tells whether payloads or conditions of a set may go to .status
// of its resource; if the schema is not known, they may.
func (r *round) writesStatus(ctx context.Context, res *resource, set v1alpha1.AnySet) bool {
	for i := range set.Declared().Handlers {
		h := &set.Declared().Handlers[i]
		if h.ConditionType() != "" {
			return true
		}
		if h.Status.Place() == v1alpha1.TargetAnnotation {
			continue
		}
		published, err := r.published(ctx, res.kind)
		if err != nil || published.has(append([]string{"status"}, strings.Split(h.StatusPath(), ".")...)) {
			return true
		}
	}
	return false
}
