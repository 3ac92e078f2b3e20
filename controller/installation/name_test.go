package installation_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestNamesOfResources(t *testing.T) {
	certificates := schema.GroupResource{Group: "cert-manager.io", Resource: "certificates"}
	for text, want := range map[string]schema.GroupResource{
		"certificates.cert-manager.io":           certificates,
		"certificates.v1.cert-manager.io":        certificates,
		"certificates.v1alpha12.cert-manager.io": certificates,
		"cert-manager.io/v1/certificates":        certificates,
		"cert-manager.io/certificates":           certificates,
		"services":                               {Resource: "services"},
		"v1/services":                            {Resource: "services"},
		"deployments.apps":                       {Group: "apps", Resource: "deployments"},
		"apps/v1/deployments":                    {Group: "apps", Resource: "deployments"},
		"Certificate.cert-manager.io":            {Group: "cert-manager.io", Resource: "Certificate"},
	} {
		if have, err := installation.ParseResource(text); err != nil || have != want {
			t.Errorf("%s: got %v, %v, want %v", text, have, err, want)
		}
	}
	for _, text := range []string{"", ".", "/", "*.*", "pods/status/", "a/b/c/d", "certificates.cert-manager.io/v1", "v1", "services ", "certificates.Cert-Manager.io", "x/", "-"} {
		if have, err := installation.ParseResource(text); err == nil || !strings.Contains(err.Error(), "certificates.cert-manager.io") {
			t.Errorf("%q: got %v, %v", text, have, err)
		}
	}
}

func TestResourcesThatAreMeant(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(rigtest.ControlPlane(t).AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	c, err := installation.ReadCatalog(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"deployments": "deployments.apps", "Deployment": "deployments.apps", "deploy": "deployments.apps", "deployment.apps": "deployments.apps",
		"svc": "services", "Service": "services", "crd": "customresourcedefinitions.apiextensions.k8s.io",
		"deployment.batch": "", "nothing": "", "events": "events events.events.k8s.io",
	} {
		name, err := installation.ParseResource(text)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range c.Like(name) {
			names = append(names, s.String())
		}
		if have := strings.Join(names, " "); have != want {
			t.Errorf("%s: got %q, want %q", text, have, want)
		}
	}
	services, pods := c.Find(schema.GroupResource{Resource: "services"}), c.FindKind(schema.GroupKind{Kind: "Pod"})
	if services == nil || !services.Status || !services.Namespaced || !services.Writable() || pods == nil || pods.Resource.Resource != "pods" {
		t.Errorf("got %+v, %+v", services, pods)
	}
	if maps := c.Find(schema.GroupResource{Resource: "configmaps"}); maps == nil || maps.Status {
		t.Errorf("got %+v", maps)
	}
}
