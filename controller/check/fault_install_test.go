package check_test

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/check"
)

// edit changes an object, and returns what puts it back.
func edit[T client.Object](c *cluster, key client.ObjectKey, o T, status bool, change func(T)) (restore func()) {
	c.Helper()
	write := func(change func(T)) {
		c.Helper()
		c.must(c.admin.Get(c.Context(), key, o))
		change(o)
		if status {
			c.must(c.admin.Status().Update(c.Context(), o))
		} else {
			c.must(c.admin.Update(c.Context(), o))
		}
	}
	c.must(c.admin.Get(c.Context(), key, o))
	before := o.DeepCopyObject().(T)
	write(change)
	return func() {
		c.Helper()
		write(func(T) {
			version := o.GetResourceVersion()
			restored := before.DeepCopyObject().(T)
			restored.SetResourceVersion(version)
			o = restored
		})
	}
}

const setsCRD = "clusterhandlersets.dogear.dev"

// schemaOf is the part of the spec of a CRD's schema.
func schemaOf(crd *apiextensionsv1.CustomResourceDefinition) map[string]apiextensionsv1.JSONSchemaProps {
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
}

func (c *cluster) otherCRD() {
	for want, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"drops spec.paused": func(crd *apiextensionsv1.CustomResourceDefinition) { delete(schemaOf(crd), "paused") },
		"does not know spec.later": func(crd *apiextensionsv1.CustomResourceDefinition) {
			schemaOf(crd)["later"] = apiextensionsv1.JSONSchemaProps{Type: "boolean"}
		},
		"spec.existing differ": func(crd *apiextensionsv1.CustomResourceDefinition) {
			existing := schemaOf(crd)["existing"]
			existing.Enum = append(existing.Enum, apiextensionsv1.JSON{Raw: []byte(`"Forget"`)})
			schemaOf(crd)["existing"] = existing
		},
	} {
		restore := edit(c, client.ObjectKey{Name: setsCRD}, &apiextensionsv1.CustomResourceDefinition{}, false, change)
		c.want("CRDs", "schema", check.Warning, []string{want})
		restore()
	}
}

func (c *cluster) storedVersion() {
	restore := edit(c, client.ObjectKey{Name: setsCRD}, &apiextensionsv1.CustomResourceDefinition{}, false, func(crd *apiextensionsv1.CustomResourceDefinition) {
		older := crd.Spec.Versions[0].DeepCopy()
		older.Name, older.Storage = "v1alpha0", false
		crd.Spec.Versions = append(crd.Spec.Versions, *older)
	})
	restoreStatus := edit(c, client.ObjectKey{Name: setsCRD}, &apiextensionsv1.CustomResourceDefinition{}, true, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Status.StoredVersions = []string{"v1alpha0", "v1alpha1"}
	})
	c.want("CRDs", "stored versions", check.Warning, []string{"may be stored in v1alpha0", "dogear migrate"})
	restoreStatus()
	restore()
}

func (c *cluster) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: c.namespace, Name: name}
}

func (c *cluster) missingReplica() {
	restore := edit(c, c.key("dogear-webhook"), &appsv1.Deployment{}, true, func(d *appsv1.Deployment) { d.Status.AvailableReplicas, d.Status.ReadyReplicas = 0, 0 })
	c.want("installation", "replicas", check.Failed, []string{"dogear-webhook has 0 of 1 replicas available", "get pods"})
	restore()
	restore = edit(c, c.key("dogear-controller"), &appsv1.Deployment{}, false, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "ghcr.io/dogear-dev/dogear:v1.2.4@sha256:" + sha
	})
	c.want("installation", "replicas", check.Failed, []string{"dogear-controller was changed"})
	c.want("installation", "versions", check.Warning, []string{"dogear-controller v1.2.4, dogear-webhook v1.2.3"})
	restore()
	d := &appsv1.Deployment{}
	c.must(c.admin.Get(c.Context(), c.key("dogear-controller"), d))
	d.Status.ObservedGeneration = d.Generation
	c.must(c.admin.Status().Update(c.Context(), d))
	c.want("installation", "versions", check.Warning, []string{"v1.2.3 is installed, but this program is v2.0.0"}, func(o *check.Options) { o.Version = "v2.0.0" })
	c.want("installation", "versions", check.OK, nil, func(o *check.Options) { o.Version = "(devel)" })
}

// twoReleases in one namespace: neither is told from the other any more.
func (c *cluster) twoReleases() {
	release := func(name string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Labels["app.kubernetes.io/instance"] = name }
	}
	restore := edit(c, c.key("dogear-controller"), &appsv1.Deployment{}, false, release("dogear"))
	restoreWebhook := edit(c, c.key("dogear-webhook"), &appsv1.Deployment{}, false, release("dogear"))
	c.want("installation", "found", check.OK, nil)
	c.deployment("controller", "second")
	edit(c, c.key("second-controller"), &appsv1.Deployment{}, false, release("second"))
	c.want("installation", "found", check.Failed, []string{"in the releases dogear and second", "second-controller", "helm list -n " + c.namespace})
	c.drop(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "second-controller"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "second-controller-0"}})
	restore()
	restoreWebhook()
}

const sha = "0123456789012345678901234567890123456789012345678901234567890123"

func (c *cluster) restartingPods() {
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, FinishedAt: metav1.NewTime(time.Now().Add(-time.Minute))}}
	restore := edit(c, c.key("dogear-controller-0"), &corev1.Pod{}, true, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].LastTerminationState, p.Status.ContainerStatuses[0].RestartCount = ended, 3
	})
	c.want("installation", "Pods", check.Warning, []string{"Pod dogear-controller-0: 3 restarts: OOMKilled, exit code 137", "--previous"})
	c.want("installation", "Pods", check.OK, nil, in(time.Hour))
	restore()
	restore = edit(c, c.key("dogear-controller-0"), &corev1.Pod{}, true, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	})
	c.want("installation", "Pods", check.Failed, []string{"Pod dogear-controller-0: ImagePullBackOff", "describe pod"})
	restore()
}

func (c *cluster) missingRight() {
	c.account(rbacv1.PolicyRule{APIGroups: []string{"cert-manager.io"}, Resources: []string{"certificates"}, Verbs: []string{"get", "list", "watch"}})
	c.want("rights", "resources", check.Failed, []string{"patch certificates.cert-manager.io", "dogear rbac certificates.cert-manager.io | kubectl apply"})
	c.want("rights", "resources", check.Warning, nil, tolerant)
	c.account(handled...)
}

func (c *cluster) missingBaseRight() {
	name := "rig:" + c.namespace + ":dogear-controller"
	restore := edit(c, client.ObjectKey{Name: name}, &rbacv1.ClusterRole{}, false, func(r *rbacv1.ClusterRole) {
		for i := range r.Rules {
			if r.Rules[i].APIGroups[0] == "events.k8s.io" {
				r.Rules[i].Verbs = []string{"patch"}
			}
		}
	})
	c.want("rights", "controller", check.Failed, []string{"create events.events.k8s.io", "helm upgrade"}, tolerant)
	restore()
}

func (c *cluster) missingSecretRight() {
	s := c.set("signed", `
resource: {version: v1, resource: configmaps}
match: {labelSelector: {matchLabels: {signed: "yes"}}}
handlers: [{id: h, causes: [Create], http: {service: {namespace: `+c.shop+`, name: hook, port: 1}, plaintext: true, secretRef: {name: key}}}]
`)
	c.want("rights", "endpoints", check.Failed, []string{"get secrets key in namespace " + c.shop, "rbac.endpointSecrets"})
	c.want("rights", "endpoints", check.Warning, nil, tolerant)
	c.drop(s)
}
