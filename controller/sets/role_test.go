package sets

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTheRoleOfTheMessageIsReadable(t *testing.T) {
	v := &verdict{resource: &resource{name: schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}, subresource: true}}
	const want = `Dogear lacks rights for certificates.cert-manager.io: list, patch of its status. Apply:
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    dogear.dev/aggregate-to-controller: "true"
  name: dogear-certificates.cert-manager.io
rules:
- apiGroups:
  - cert-manager.io
  resources:
  - certificates
  verbs:
  - get
  - list
  - watch
  - patch
- apiGroups:
  - cert-manager.io
  resources:
  - certificates/status
  verbs:
  - patch
`
	if have := rightsMessage(v, []Right{{Verb: "list"}, {Subresource: "status", Verb: "patch"}}, ResourceRole(v.resource.name.GroupResource(), true)); have != want {
		t.Errorf("got %s", have)
	}
}

func TestARoleForTheCoreGroup(t *testing.T) {
	role := ResourceRole(schema.GroupResource{Resource: "services"}, false)
	if role.Name != "dogear-services" || len(role.Rules) != 1 || role.Rules[0].APIGroups[0] != "" {
		t.Errorf("got %+v", role)
	}
}

// The Job that releases the objects of a namespace needs the rights of the
// controller that holds them.
func TestARoleInANamespaceIsForTheUninstallJobToo(t *testing.T) {
	account := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "dogear", Name: name}
	}
	for _, c := range []struct {
		controller rbacv1.Subject
		given      string
		want       []rbacv1.Subject
	}{
		{account("dogear-controller"), "", []rbacv1.Subject{account("dogear-controller"), account("dogear-uninstall")}},
		{account("my-dogear-controller"), "", []rbacv1.Subject{account("my-dogear-controller"), account("my-dogear-uninstall")}},
		{account("robot"), "remover", []rbacv1.Subject{account("robot"), account("remover")}},
		{account("dogear-controller"), "remover", []rbacv1.Subject{account("dogear-controller"), account("remover")}},
		{subjectOf("alice"), "remover", []rbacv1.Subject{subjectOf("alice")}},
		{account("robot"), "", []rbacv1.Subject{account("robot")}},
		{account("-controller"), "", []rbacv1.Subject{account("-controller")}},
		{subjectOf("alice-controller"), "", []rbacv1.Subject{subjectOf("alice-controller")}},
	} {
		_, binding := NamespacedRole("shop", schema.GroupResource{Resource: "services"}, false, WithUninstall(c.controller, c.given)...)
		if !slices.Equal(binding.Subjects, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.controller.Name, binding.Subjects, c.want)
		}
	}
}
