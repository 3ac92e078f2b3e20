package chart

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// TestANamespacedRelease has no right in the cluster, and does its work in the
// namespaces that it was given.
func TestANamespacedRelease(t *testing.T) {
	b := newBench(t)
	b.crds()
	b.install("--set=crds.enabled=false,namespaced.enabled=true,namespaced.namespaces={" + b.objects + "}")
	for _, list := range []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}} {
		if err := b.admin.List(t.Context(), list, client.MatchingLabels{"app.kubernetes.io/instance": release}); err != nil {
			t.Fatal(err)
		}
		switch list := list.(type) {
		case *rbacv1.ClusterRoleList:
			if len(list.Items) > 0 {
				t.Errorf("ClusterRoles %+v", list.Items)
			}
		case *rbacv1.ClusterRoleBindingList:
			if len(list.Items) > 0 {
				t.Errorf("ClusterRoleBindings %+v", list.Items)
			}
		}
	}
	e := b.endpoint("hook", nil)
	s := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: b.objects, Name: "mine"}}
	spec := "resource: {group: cert-manager.io, version: v1, resource: certificates}\nhandlers:\n- {id: myapp, causes: [Create, Delete], http: " + e.local() + "}\n"
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		t.Fatal(err)
	}
	if err := b.admin.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.awaitReady(s)
	all := b.certificates("a", 5)
	b.await("Succeeded", all...)
	b.delete(all[0])
	b.eventually(func() error { return b.isGone(all[0]) })
	b.checks("resources", "leader", "sets")

	b.uninstall()
	for _, u := range all[1:] {
		if fresh, err := b.get(u); err != nil || holds(fresh) {
			t.Errorf("%s: %v %v", u.GetName(), fresh.GetFinalizers(), err)
		}
	}
	b.leftNothing()
	for _, e := range b.audited() {
		// What is in the cluster, the others ask for and do without.
		if e.account() == "dogear-controller" && !e.allowed() {
			t.Errorf("%s was refused: %s %s", e.account(), e.Verb, e.RequestURI)
		}
	}
}

// crds installs the chart that has nothing but the CRDs.
func (b *bench) crds() {
	b.Helper()
	b.helm("install", "crds", strings.TrimSuffix(b.chart(), "dogear")+"dogear-crds", "--wait", "--timeout", helmTimeout)
	b.Cleanup(func() {
		// The CRDs stay, as the chart says: clear removes them.
		if _, err := b.cp.Helm(context.Background(), "uninstall", "crds", "--namespace", namespace, "--ignore-not-found"); err != nil {
			b.Error(err)
		}
	})
}
