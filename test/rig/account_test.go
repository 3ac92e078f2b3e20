package rig_test

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func clientOf(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestServiceAccountHasExactlyItsRights(t *testing.T) {
	cp, object, elsewhere := rigtest.ControlPlane(t), configMap(t), rigtest.Namespace(t)
	read := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}
	list := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}
	config, err := cp.ServiceAccountConfig(t.Context(), rigtest.Namespace(t), "reader", rig.Rights{
		Cluster:    []rbacv1.PolicyRule{read},
		Namespaced: map[string][]rbacv1.PolicyRule{elsewhere: {list}},
	})
	if err != nil {
		t.Fatal(err)
	}
	reader := clientOf(t, config)
	if err := reader.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Errorf("get, allowed everywhere: %v", err)
	}
	if err := reader.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(elsewhere)); err != nil {
		t.Errorf("list, allowed in the namespace: %v", err)
	}
	if err := reader.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(object.Namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("list in another namespace: %v", err)
	}
	if err := reader.Update(t.Context(), object); !apierrors.IsForbidden(err) {
		t.Errorf("update: %v", err)
	}
}

func TestServiceAccountWithoutRightsIsDenied(t *testing.T) {
	object := configMap(t)
	config, err := rigtest.ControlPlane(t).ServiceAccountConfig(t.Context(), "made-with-the-account", "nobody", rig.Rights{})
	if err != nil {
		t.Fatal(err)
	}
	if len(config.CertData) > 0 || config.BearerToken == "" {
		t.Error("the configuration holds more than a token, or none")
	}
	if err := clientOf(t, config).Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsForbidden(err) {
		t.Errorf("get: %v", err)
	}
}

func TestServiceAccountRightsCanBeReplaced(t *testing.T) {
	cp, object := rigtest.ControlPlane(t), configMap(t)
	for _, verb := range []string{"get", "update"} {
		config, err := cp.ServiceAccountConfig(t.Context(), object.Namespace, "again", rig.Rights{Cluster: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{verb}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if verb == "update" {
			if err := clientOf(t, config).Update(t.Context(), object); err != nil {
				t.Errorf("update: %v", err)
			}
		}
	}
}

func TestWrittenKubeconfigSpeaksAsTheAccount(t *testing.T) {
	cp, object := rigtest.ControlPlane(t), configMap(t)
	config, err := cp.ServiceAccountConfig(t.Context(), object.Namespace, "nobody", rig.Rights{})
	if err != nil {
		t.Fatal(err)
	}
	admin, nobody := filepath.Join(t.TempDir(), "admin"), filepath.Join(t.TempDir(), "nobody")
	if err := cp.Kubeconfig(admin); err != nil {
		t.Fatal(err)
	}
	if err := rig.WriteKubeconfig(nobody, config); err != nil {
		t.Fatal(err)
	}
	for path, allowed := range map[string]bool{admin: true, nobody: false} {
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		err = clientOf(t, config).Get(t.Context(), client.ObjectKeyFromObject(object), object)
		if allowed != (err == nil) || !allowed && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}
