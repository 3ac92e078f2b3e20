package sets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// judgeEndpointRights finds out whether this process may read what the calls of
// a set need: without, its handlers wait.
func (s *Service) judgeEndpointRights(ctx context.Context, v *verdict) {
	if !s.controls() || v.set.GetDeletionTimestamp() != nil {
		return
	}
	var missing []Right
	reads := EndpointRights(v.set)
	for _, r := range reads {
		// What the API server does not tell, the calls will.
		if allowed, err := s.rights.has(ctx, r); err == nil && !allowed {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		v.unreadable = endpointRightsMessage(endpointRoleName(v.set), reads, missing, s.op.Username())
	}
}

// endpointRightsMessage says which rights are missing, with Roles to apply that
// give all that the set needs in their namespaces.
func endpointRightsMessage(name string, reads, missing []Right, user string) string {
	var texts []string
	var namespaces []string
	for _, m := range missing {
		texts = append(texts, m.Resource+" "+m.Namespace+"/"+m.Name)
		if !slices.Contains(namespaces, m.Namespace) {
			namespaces = append(namespaces, m.Namespace)
		}
	}
	var apply []any
	for _, namespace := range namespaces {
		apply = append(apply, endpointRole(namespace, name, reads, user)...)
	}
	return fmt.Sprintf("handlers wait, as Dogear lacks the right to get %s. Apply:\n%s", strings.Join(texts, ", "), manifests(apply...))
}

// endpointRole is a Role for what is read in a namespace, and its binding to
// the user that this process runs as.
func endpointRole(namespace, name string, reads []Right, user string) []any {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	role := &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta}
	for _, resource := range []string{"services", "secrets"} {
		var names []string
		for _, r := range reads {
			if r.Resource == resource && r.Namespace == namespace {
				names = append(names, r.Name)
			}
		}
		if len(names) > 0 {
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{"get"}})
		}
	}
	return []any{role, &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: meta,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}, Subjects: []rbacv1.Subject{subjectOf(user)},
	}}
}

// endpointRoleName is a name that no other set's role has.
func endpointRoleName(set v1alpha1.AnySet) string {
	if set.GetNamespace() == "" {
		return "dogear-endpoints-chs-" + set.GetName()
	}
	return "dogear-endpoints-hs-" + set.GetName()
}
