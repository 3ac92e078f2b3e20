package sets

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// objectVerbs are what Dogear does with the objects that it handles.
var objectVerbs = []string{"get", "list", "watch", "patch"}

// ResourceRole is the ClusterRole by which Dogear's controller may handle the
// objects of a resource; status tells that it has a status subresource.
func ResourceRole(resource schema.GroupResource, status bool) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   ResourceRoleName(resource),
			Labels: map[string]string{AggregateLabel: "true"},
		},
		Rules: ResourceRules(resource, status),
	}
}

// ResourceRoleName is what a role for a resource is called.
func ResourceRoleName(resource schema.GroupResource) string {
	return "dogear-" + strings.TrimSuffix(resource.Resource+"."+resource.Group, ".")
}

// ResourceRules are the rules of a role for a resource.
func ResourceRules(resource schema.GroupResource, status bool) []rbacv1.PolicyRule {
	groups := []string{resource.Group}
	rules := []rbacv1.PolicyRule{{APIGroups: groups, Resources: []string{resource.Resource}, Verbs: objectVerbs}}
	if status {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: groups, Resources: []string{resource.Resource + "/status"}, Verbs: []string{"patch"}})
	}
	return rules
}
