package check_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/controller/check"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// TestCheckOfACertificateOfOnesOwn: what is wrong with its Secret is said by name,
// also where nothing is published for want of it.
func TestCheckOfACertificateOfOnesOwn(t *testing.T) {
	c := newCluster(t)
	c.namespace = rigtest.Namespace(t)
	c.unpublish()
	c.must(c.admin.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "dogear-settings"},
		Data:       map[string]string{"settings.yaml": "webhook: {service: dogear-webhook, certificateDir: /etc/dogear-tls}\n"},
	}))
	secretVolume := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "hook-tls"}}
	mount := func(component string, source corev1.VolumeSource) {
		edit(c, c.key("dogear-"+component), &appsv1.Deployment{}, false, func(d *appsv1.Deployment) {
			pod := &d.Spec.Template.Spec
			pod.Volumes = append(pod.Volumes[:1], corev1.Volume{Name: "tls", VolumeSource: source})
			pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts[:1], corev1.VolumeMount{Name: "tls", MountPath: "/etc/dogear-tls"})
		})
	}
	for _, component := range []string{"controller", "webhook"} {
		c.deployment(component)
		mount(component, secretVolume)
	}
	of := func(o *check.Options) { o.Namespace = c.namespace }
	name := "Secret " + c.namespace + "/hook-tls"
	c.want("webhook", "certificate", check.Failed, []string{name + " is not there", "put tls.crt"}, of)

	bundle, _, err := cert.Next(nil, []string{"dogear-webhook." + c.namespace + ".svc"}, time.Now(), cert.Policy{})
	c.must(err)
	data, err := bundle.Data()
	c.must(err)
	other, _, err := cert.Next(nil, []string{"dogear-webhook." + c.namespace + ".svc"}, time.Now(), cert.Policy{})
	c.must(err)
	foreign, err := other.Data()
	c.must(err)
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "hook-tls"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": data["tls.crt"], "tls.key": foreign["tls.key"], "ca.crt": data["ca.crt"]},
	}
	c.must(c.admin.Create(t.Context(), s))
	c.want("webhook", "certificate", check.Failed, []string{name + " has no pair that can be served", "private key does not match"}, of)

	s.Data = map[string][]byte{"tls.crt": data["tls.crt"], "tls.key": data["tls.key"]}
	c.must(c.admin.Update(t.Context(), s))
	c.want("webhook", "certificate", check.Failed, []string{name + " has no ca.crt", "webhook.certificate.caBundle"}, of)
	mount("controller", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "ca"}}})
	c.want("webhook", "certificate", check.Skipped, []string{"no webhook is published"}, of) // the CA is elsewhere
	mount("controller", secretVolume)
	s.Data["ca.crt"] = data["ca.crt"]
	c.must(c.admin.Update(t.Context(), s))
	c.want("webhook", "certificate", check.Skipped, []string{"no webhook is published"}, of)
}
