package installation

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dogear-dev/dogear/storage"
)

const (
	// ComponentLabel is on the Deployments of the service and on their Pods,
	// whatever the release is called; its value is one of the components.
	ComponentLabel = "dogear.dev/component"
	// ReleaseLabel is on all that the chart makes; its value is the name of the
	// release.
	ReleaseLabel = "app.kubernetes.io/instance"
	// ComponentController handles objects.
	ComponentController = "controller"
	// ComponentWebhook serves admission.
	ComponentWebhook = "webhook"
)

// Name is what the controller calls its webhook configurations, its Lease and
// the ConfigMap with its ledger.
const Name = string(storage.ServicePrefix)

// Secrets are those that the controller makes in its namespace, under the names
// that they have by default.
func Secrets() []string {
	return []string{Name + "-webhook", Name + "-callback", Name + "-callback-tokens"}
}

// Installation is the service in a cluster.
type Installation struct {
	// Namespace is where it is.
	Namespace string
	// Deployments have the label of a component, ordered by name; there are
	// none where it runs outside of the cluster, or has been removed.
	Deployments []appsv1.Deployment
	// Ledger is the ConfigMap of the ledger; nil: there is none.
	Ledger *corev1.ConfigMap
}

// Controller returns the Deployment of the controller; nil: there is none.
func (i *Installation) Controller() *appsv1.Deployment { return i.component(ComponentController) }

// Webhook returns the Deployment of the webhook; nil: there is none.
func (i *Installation) Webhook() *appsv1.Deployment { return i.component(ComponentWebhook) }

func (i *Installation) component(name string) *appsv1.Deployment {
	for at := range i.Deployments {
		if d := &i.Deployments[at]; d.Labels[ComponentLabel] == name {
			return d
		}
	}
	return nil
}

// ServiceAccount is the name of that of the controller, in Namespace; empty: it
// is not known, as there is no Deployment.
func (i *Installation) ServiceAccount() string {
	d := i.Controller()
	if d == nil {
		return ""
	}
	return cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
}

// Empty tells whether nothing of the service was found in Namespace.
func (i *Installation) Empty() bool { return len(i.Deployments) == 0 && i.Ledger == nil }
