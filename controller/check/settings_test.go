package check

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dogear-dev/dogear/config"
)

func TestSettingsAreReadAsTheProcessReadsThem(t *testing.T) {
	t.Parallel()
	const file = `
webhook: {service: hooks, servicePort: 8443, certificateDir: /etc/dogear-tls, injectCAFrom: ns/name}
namespaces: [a, b]
somethingOfALaterRelease: {x: [1]}
`
	process := &corev1.Container{
		Args: []string{"run", "--config=/etc/dogear/settings.yaml", "--webhook-service=other"},
		Env:  []corev1.EnvVar{{Name: "DOGEAR_LEADER_ELECT", Value: "false"}, {Name: "DOGEAR_NAMESPACE", ValueFrom: &corev1.EnvVarSource{}}, {Name: "DOGEAR_CALLBACK_ADDRESS", Value: ":9444"}},
	}
	have, err := settingsOf(process, file)
	want := settings{namespaces: []string{"a", "b"}, service: "other", servicePort: "8443", certificateDir: "/etc/dogear-tls", injected: true, callback: true}
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("got %+v, %v", have, err)
	}
	if have, err := settingsOf(&corev1.Container{}, ""); err != nil || !have.leaderElect || have.hasWebhook() {
		t.Errorf("of nothing: %+v, %v", have, err)
	}
	if _, err := settingsOf(process, "{"); err == nil {
		t.Error("no error for what is no YAML")
	}
	pod := &corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "tls"}, {Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x-settings"}}}},
	}}
	process.VolumeMounts = []corev1.VolumeMount{{Name: "tls", MountPath: "/etc/dogear-tls"}, {Name: "settings", MountPath: "/etc/dogear"}}
	if name, key := settingsMap(pod, process); name != "x-settings" || key != "settings.yaml" {
		t.Errorf("the file is in %q, %q", name, key)
	}
}

func TestFlagsMayBeTwoWords(t *testing.T) {
	t.Parallel()
	process := &corev1.Container{Args: []string{"run", "--config", "/etc/dogear/settings.yaml", "--webhook-service", "dogear", "--leader-elect", "--namespaces", "a,b", "--webhook-url", "--callback-address="}}
	have, err := settingsOf(process, "leaderElect: false\ncallback: {address: ':9444'}\n")
	want := settings{namespaces: []string{"a", "b"}, leaderElect: true, service: "dogear", servicePort: "443"}
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("got %+v, %v", have, err)
	}
	pod := &corev1.PodSpec{Volumes: []corev1.Volume{{
		Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x-settings"}}},
	}}}
	process.VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/dogear"}}
	if name, key := settingsMap(pod, process); name != "x-settings" || key != "settings.yaml" {
		t.Errorf("the file is in %q, %q", name, key)
	}
}

func TestWhatIsReadIsASetting(t *testing.T) {
	t.Parallel()
	for path := range wanted {
		if !slices.Contains(config.Paths(), path) {
			t.Errorf("there is no setting %s", path)
		}
	}
}
