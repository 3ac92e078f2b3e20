package sets

import (
	"testing"

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
