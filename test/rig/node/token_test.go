package node_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTokenIsThatOfItsServiceAccountAndNothingMore(t *testing.T) {
	namespace := newNamespace(t)
	create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "worker"}})
	spec := podSpec("whoami")
	spec.ServiceAccountName = "worker"
	text := output(t, run(t, spec, namespace))
	if user := "user: system:serviceaccount:" + namespace + ":worker <nil>"; !strings.Contains(text, user) {
		t.Errorf("no %q in %q", user, text)
	}
	if !strings.Contains(text, "secrets is forbidden") {
		t.Errorf("it may list Secrets: %q", text)
	}
}

func TestWithoutATokenThereIsNoCredential(t *testing.T) {
	spec := podSpec("whoami")
	spec.AutomountServiceAccountToken = new(false)
	if text := output(t, run(t, spec)); !strings.Contains(text, "secrets: secrets is forbidden: User \"system:anonymous\"") {
		t.Errorf("it printed %q", text)
	}
}

func TestATokenVolumeOfThePodsOwnCounts(t *testing.T) {
	spec := podSpec("whoami")
	spec.AutomountServiceAccountToken = new(false)
	source := &corev1.ServiceAccountTokenProjection{Path: "mine", ExpirationSeconds: new(int64(600))}
	spec = mount(spec, "token", "/tokens", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: source}},
	}})
	if text := output(t, run(t, spec)); !strings.Contains(text, ":default <nil>") {
		t.Errorf("it printed %q", text)
	}
}
