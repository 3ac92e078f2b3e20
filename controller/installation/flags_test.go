package installation

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// The program takes --name=value and --name value, and a switch alone.
func TestFlagsMayBeTwoWords(t *testing.T) {
	t.Parallel()
	i, stored := settingsBench("leaderElect: false\ncallback: {address: ':9444'}\n", func(c *corev1.Container) {
		c.Args = append(c.Args, "--webhook-service", "dogear", "--leader-elect", "--namespaces", "a,b", "--webhook-url", "--callback-address=")
	})
	want := map[string][]string{"webhook.service": {"dogear"}, "leaderElect": nil, "namespaces": {"a", "b"}, "webhook.url": nil, "callback.address": nil}
	have, err := i.Settings(t.Context(), fake.NewFakeClient(stored), "webhook.service", "webhook.url", "webhook.secret", "leaderElect", "namespaces", "callback.address")
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("got %q, %v, want %q", have, err, want)
	}
}
