package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig"
)

// The ServiceAccounts of the demo.
const (
	userName       = "alice" // in the namespace of the objects
	controllerName = "controller"
	webhookName    = "webhook"
)

// tokenLife is for how long the demo can be kept.
const tokenLife = 7 * 24 * time.Hour

func rule(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

func named(r rbacv1.PolicyRule, name string) rbacv1.PolicyRule {
	r.ResourceNames = []string{name}
	return r
}

var (
	certificates = []string{"certificates"}
	services     = []string{"services"}
	secrets      = []string{"secrets"}
	configMaps   = []string{"configmaps"}
	webhooks     = []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
	handlerSets  = []string{"clusterhandlersets", "handlersets"}
	events       = []string{"events"}
)

// userRights are those of somebody who works with the objects, and knows
// nothing of Dogear.
func userRights() rig.Rights {
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{objectsNamespace: {
		rule("cert-manager.io", certificates, all...), rule("", services, all...),
		rule("events.k8s.io", events, "get", "list"),
	}}}
}

// controllerRights: it looks after sets and the objects that they name, finds
// the endpoints and their Secrets, and keeps its ledger, its certificates and
// its webhook configurations.
func controllerRights() rig.Rights {
	const name = string(storage.ServicePrefix)
	return rig.Rights{
		Cluster: []rbacv1.PolicyRule{
			rule("dogear.dev", handlerSets, "get", "list", "watch", "patch"),
			rule("dogear.dev", []string{"clusterhandlersets/status", "handlersets/status"}, "patch"),
			rule("", []string{"namespaces"}, "get", "list", "watch"),
			rule("cert-manager.io", certificates, "get", "list", "watch", "patch"),
			rule("", services, "get", "list", "watch", "patch"),
			rule("events.k8s.io", events, "create", "patch"),
			rule("admissionregistration.k8s.io", webhooks, "create"),
			named(rule("admissionregistration.k8s.io", webhooks, "get", "patch"), name),
		},
		Namespaced: map[string][]rbacv1.PolicyRule{
			hooksNamespace: {rule("", secrets, "get")},
			systemNamespace: {
				rule("", append(secrets, configMaps...), "create"),
				named(rule("", secrets, "get", "update"), name+"-webhook"),
				named(rule("", configMaps, "get", "update"), name),
			},
		},
	}
}

// webhookRights: it may read sets, namespaces, and the Secret with its
// certificate.
func webhookRights() rig.Rights {
	return rig.Rights{
		Cluster: []rbacv1.PolicyRule{
			rule("dogear.dev", handlerSets, "get", "list", "watch"),
			rule("", []string{"namespaces"}, "get", "list", "watch"),
		},
		Namespaced: map[string][]rbacv1.PolicyRule{
			systemNamespace: {named(rule("", secrets, "get"), string(storage.ServicePrefix)+"-webhook")},
		},
	}
}

// account makes a ServiceAccount with exactly these rights and writes a
// kubeconfig that holds nothing but its token.
func (d *demo) account(ctx context.Context, namespace, name string, rights rig.Rights) (*rest.Config, error) {
	config, err := d.cp.ServiceAccountConfig(ctx, namespace, name, rights)
	if err != nil {
		return nil, err
	}
	if config.BearerToken, err = d.cp.Token(ctx, namespace, name, tokenLife); err != nil {
		return nil, err
	}
	return config, rig.WriteKubeconfig(d.kubeconfig(name), config)
}

func (d *demo) kubeconfig(name string) string { return filepath.Join(d.dir, name+".kubeconfig") }

func accountUser(namespace, name string) string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name)
}
