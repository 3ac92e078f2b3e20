package installation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) { rigtest.Main(m) }

// There is one cluster: what comes first is found there by what comes later.
func TestFind(t *testing.T) {
	admin := rigtest.Client(t)
	a, b, c := rigtest.Namespace(t), rigtest.Namespace(t), rigtest.Namespace(t)
	both := []string{a, b}
	slices.Sort(both)
	find := func(namespace string) (*installation.Installation, error) {
		return installation.Find(t.Context(), admin, namespace)
	}
	found := func(want string) {
		t.Helper()
		if i, err := find(""); err != nil || i.Namespace != want {
			t.Fatalf("found %+v, %v, want it in %s", i, err, want)
		}
	}
	create := func(o client.Object) {
		t.Helper()
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}

	if i, err := find(""); !errors.Is(err, installation.ErrNotFound) {
		t.Errorf("in an empty cluster: %+v, %v", i, err)
	}
	if i, err := find(a); err != nil || !i.Empty() || i.Namespace != a || i.ServiceAccount() != "" {
		t.Errorf("in a namespace that is given: %+v, %v", i, err)
	}
	if i, err := find("nowhere"); err != nil || !i.Empty() {
		t.Errorf("in a namespace that is no more: %+v, %v", i, err)
	}

	create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: installation.Name}})
	create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: a, Name: "another"}})
	found(c)
	create(ledger(b))
	create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a, Name: "another"}})
	found(b)
	create(deployment(a, "x-webhook", installation.ComponentWebhook, ""))
	create(deployment(a, "x-controller", installation.ComponentController, "x-controller"))
	found(a)

	i, err := find("")
	if err != nil || i.Controller().Name != "x-controller" || i.Webhook().Name != "x-webhook" || i.ServiceAccount() != "x-controller" || i.Ledger != nil || i.Empty() {
		t.Errorf("found %+v, %v", i, err)
	}
	if i, err := find(b); err != nil || i.Ledger.Data["ledger.json"] != "{}" || i.Controller() != nil || i.Empty() {
		t.Errorf("found %+v, %v", i, err)
	}

	create(deployment(b, "y", installation.ComponentController, ""))
	if _, err := find(""); err == nil || !strings.Contains(err.Error(), "Deployments of Dogear are in several namespaces: "+strings.Join(both, ", ")+": name one with -n") {
		t.Errorf("with two: %v", err)
	}
	if i, err := find(b); err != nil || i.ServiceAccount() != "default" {
		t.Errorf("found %+v, %v", i, err)
	}
}

func TestFindWithRightsInANamespaceOnly(t *testing.T) {
	cp, namespace := rigtest.ControlPlane(t), rigtest.Namespace(t)
	config, err := cp.ServiceAccountConfig(t.Context(), namespace, "finder", rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{namespace: {
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{installation.Name}, Verbs: []string{"get"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := installation.Find(t.Context(), reader, ""); err == nil || !strings.Contains(err.Error(), "name its namespace with -n") {
		t.Errorf("got %v", err)
	}
	if err := rigtest.Client(t).Create(t.Context(), ledger(namespace)); err != nil {
		t.Fatal(err)
	}
	if i, err := installation.Find(t.Context(), reader, namespace); err != nil || i.Ledger == nil {
		t.Errorf("found %+v, %v", i, err)
	}
}

func ledger(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: installation.Name}, Data: map[string]string{"ledger.json": "{}"}}
}

func deployment(namespace, name, component, account string) *appsv1.Deployment {
	labels := map[string]string{installation.ComponentLabel: component}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "dogear", Image: "dogear"}}},
			},
		},
	}
}
