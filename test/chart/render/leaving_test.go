package render

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// TestFromTheClusterToSomeNamespaces there is no upgrade: what the release has left
// in the others, and its webhook configurations, would be nobody's.
func TestFromTheClusterToSomeNamespaces(t *testing.T) {
	namespace := rigtest.Namespace(t)
	install, accepted := installs(t)
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dogear-settings", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}, Annotations: map[string]string{
			"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace,
		}},
		Data: map[string]string{"settings.yaml": "webhook: {service: dogear-webhook}\n"},
	}
	if err := rigtest.Client(t).Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	confined := []string{"--set", "namespaced.enabled=true,crds.enabled=false"}
	for name, args := range map[string][]string{"roles of the chart": confined, "roles of others": append(confined[:len(confined):len(confined)], "--set", "rbac.create=false")} {
		err := install(release, namespace, args...)
		if want := "namespaced.enabled: this release works in the whole cluster, and what it has left in other namespaces would stay there for ever: uninstall it, and install it anew"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	accepted("the whole cluster, still", namespace, "--set", "crds.enabled=false")
	settings.Data["settings.yaml"] = "namespaces: [" + namespace + ", another]\n"
	if err := rigtest.Client(t).Update(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	accepted("fewer namespaces, and no sets in what goes", namespace, confined...)
}
