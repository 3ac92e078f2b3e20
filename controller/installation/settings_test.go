package installation

import (
	"errors"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// settingsBench is a controller whose settings are in a ConfigMap.
func settingsBench(file string, change func(*corev1.Container)) (*Installation, *corev1.ConfigMap) {
	process := corev1.Container{
		Args:         []string{"run", "--config", "/etc/dogear/settings.yaml"},
		VolumeMounts: []corev1.VolumeMount{{Name: "other", MountPath: "/tmp"}, {Name: "settings", MountPath: "/etc/dogear/"}},
	}
	if change != nil {
		change(&process)
	}
	source := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "my-settings"}}}
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "dogear", Labels: map[string]string{ComponentLabel: ComponentController}}}
	d.Spec.Template.Spec = corev1.PodSpec{Containers: []corev1.Container{process}, Volumes: []corev1.Volume{{Name: "settings", VolumeSource: source}}}
	return &Installation{Namespace: "dogear", Deployments: []appsv1.Deployment{d}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "dogear", Name: "my-settings"}, Data: map[string]string{"settings.yaml": file}}
}

// Settings are what the program itself would make of them.
func TestSettings(t *testing.T) {
	variable := func(c *corev1.Container) {
		c.Env = []corev1.EnvVar{{Name: "DOGEAR_NAMESPACES", Value: "from, variable,"}}
	}
	for name, c := range map[string]struct {
		file   string
		change func(*corev1.Container)
		want   map[string][]string
	}{
		"nothing is set":      {"", nil, map[string][]string{}},
		"a list":              {"namespaces: [shop, bank]\nwebhook: {service: hook}\nnew: 1", nil, map[string][]string{"namespaces": {"shop", "bank"}, "webhook.service": {"hook"}}},
		"an empty list":       {"namespaces: []", nil, map[string][]string{"namespaces": {}}},
		"null":                {"namespaces: null", nil, map[string][]string{}},
		"the environment":     {"namespaces: [file]", variable, map[string][]string{"namespaces": {"from", "variable"}}},
		"a flag comes before": {"namespaces: [file]", func(c *corev1.Container) { variable(c); c.Args = append(c.Args, "--namespaces=flag") }, map[string][]string{"namespaces": {"flag"}}},
		"no file":             {"namespaces: [file]", func(c *corev1.Container) { c.Args = []string{"run"} }, map[string][]string{}},
		"the file is named by the environment": {"namespaces: [file]", func(c *corev1.Container) {
			c.Args, c.Env = []string{"run"}, []corev1.EnvVar{{Name: "DOGEAR_CONFIG", Value: "/etc/dogear/settings.yaml"}}
		}, map[string][]string{"namespaces": {"file"}}},
	} {
		i, stored := settingsBench(c.file, c.change)
		have, err := i.Settings(t.Context(), fake.NewFakeClient(stored), "namespaces", "webhook.service")
		if err != nil || !reflect.DeepEqual(have, c.want) {
			t.Errorf("%s: got %q, %v, want %q", name, have, err, c.want)
		}
	}
}

func TestSettingsThatAreNotKnown(t *testing.T) {
	i, stored := settingsBench("namespaces: [shop", nil)
	if _, err := i.Settings(t.Context(), fake.NewFakeClient(stored), "namespaces"); err == nil || errors.Is(err, ErrNoSettings) {
		t.Errorf("a file that is no YAML: got %v", err)
	}
	if _, err := i.Settings(t.Context(), fake.NewFakeClient(), "namespaces"); !errors.Is(err, ErrNoSettings) {
		t.Errorf("no ConfigMap: got %v", err)
	}
	if _, err := (&Installation{}).Settings(t.Context(), fake.NewFakeClient(), "namespaces"); !errors.Is(err, ErrNoSettings) {
		t.Errorf("no Deployment: got %v", err)
	}
}
