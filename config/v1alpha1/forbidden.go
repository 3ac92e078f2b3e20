package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Forbidden tells why no set may name a resource; empty: it may.
func Forbidden(resource schema.GroupResource) string {
	switch resource.Group {
	case GroupVersion.Group:
		return "these are Dogear's own kinds: a set would handle itself"
	case "coordination.k8s.io":
		return "leases change every few seconds, and Dogear's own is among them"
	case "events.k8s.io":
		return "Dogear writes events, which would be handled in turn"
	case "authentication.k8s.io", "authorization.k8s.io":
		return "reviews are questions to the API server: they are not stored, so there is no object to handle"
	case "rbac.authorization.k8s.io":
		return "to change a role or a binding, be it by an annotation, takes all rights that it gives: no state could be kept there"
	case "admissionregistration.k8s.io":
		return "the API server calls no webhook for the configuration of admission, and Dogear keeps its own there"
	case "":
		switch resource.Resource {
		case "events":
			return "Dogear writes events, which would be handled in turn"
		case "bindings", "componentstatuses":
			return "they are not stored: there is no object to handle"
		}
	}
	if strings.HasSuffix(resource.Resource, "reviews") && strings.HasSuffix(resource.Group, ".k8s.io") {
		return "reviews are questions to the API server: they are not stored, so there is no object to handle"
	}
	return ""
}
