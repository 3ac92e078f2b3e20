package sets

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// objectVerbs are what Dogear does with the objects that it handles.
var objectVerbs = []string{"get", "list", "watch", "patch"}

// statusVerbs are what it does with their status, where that is apart.
var statusVerbs = []string{"patch"}

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
		rules = append(rules, rbacv1.PolicyRule{APIGroups: groups, Resources: []string{resource.Resource + "/status"}, Verbs: statusVerbs})
	}
	return rules
}

// NamespacedRole is what lets these subjects handle the objects of a resource in
// one namespace: for an installation that has no rights in the cluster. They are
// its controller, and the Job that releases the objects when it is removed.
func NamespacedRole(namespace string, resource schema.GroupResource, status bool, subjects ...rbacv1.Subject) (*rbacv1.Role, *rbacv1.RoleBinding) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: ResourceRoleName(resource)}
	role := &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: meta,
		Rules:      ResourceRules(resource, status),
	}
	binding := &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name},
		Subjects:   subjects,
	}
	return role, binding
}

// WithUninstall adds to the ServiceAccount of the controller the one by which the
// installation is removed, in the same namespace: the objects that the first holds,
// the second must be able to release. Where no name is given, it is that of the
// chart's Job, if the controller's is that of the chart.
func WithUninstall(controller rbacv1.Subject, name string) []rbacv1.Subject {
	if release, ours := strings.CutSuffix(controller.Name, "-controller"); name == "" && ours && release != "" {
		name = release + "-uninstall"
	}
	if name == "" || controller.Kind != rbacv1.ServiceAccountKind {
		return []rbacv1.Subject{controller}
	}
	remover := controller
	remover.Name = name
	return []rbacv1.Subject{controller, remover}
}
