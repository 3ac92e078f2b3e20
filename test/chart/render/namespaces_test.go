package render

import (
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// TestNamespacesOfValuesAreThere before anything is made: Helm would leave a release
// that has failed.
func TestNamespacesOfValuesAreThere(t *testing.T) {
	there := rigtest.Namespace(t)
	install, accepted := installs(t)
	const secrets, services = "rbac.endpointSecrets[0].namespace=", "rbac.allEndpointServices=false,rbac.endpointServices[0].namespace="
	for name, test := range map[string]struct{ set, want string }{
		"of Secrets":  {secrets + "nowhere", "rbac.endpointSecrets: there is no namespace nowhere, and a Role shall be made in it: kubectl create namespace nowhere, or take it away"},
		"of Services": {services + "nowhere", "rbac.endpointServices: there is no namespace nowhere"},
		"of sets":     {"namespaced.enabled=true,namespaced.namespaces={nowhere}", "namespaced.namespaces: there is no namespace nowhere"},
	} {
		if err := install(release, there, "--set", test.set); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	accepted("one that is there", "elsewhere", "--set", secrets+there)
	accepted("that of the release, which comes with it", "elsewhere", "--set", secrets+"elsewhere")
	accepted("one that comes with the release", there, "--set", secrets+"nowhere", "--set-json", `extraObjects=[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"nowhere"}}]`)
	accepted("one whose installer may not look", there, "--set", "crds.enabled=false,namespaced.enabled=true,namespaced.namespaces={nowhere}")
	accepted("one whose installer makes no roles", there, "--set", "rbac.create=false,namespaced.enabled=true,namespaced.namespaces={nowhere}")
}
