package check

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/webhook"
)

// With Fail, a resource with subresources has two webhooks, and is one resource.
func TestResourcesOfAConfigurationAreCountedOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	rules := []webhook.Rule{
		{Resource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Namespaced: true, Subresources: []string{"status"}},
		{Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Subresources: []string{"status", "finalize"}},
	}
	for policy, webhooks := range map[admissionregistrationv1.FailurePolicyType]int{admissionregistrationv1.Ignore: 2, admissionregistrationv1.Fail: 4} {
		c, err := webhook.Configuration(rules, webhook.ConfigOptions{
			Name: "dogear.dev", Domain: "dogear.dev", URL: "https://h/admit", FailurePolicy: policy, CABundle: bundle,
		})
		if err != nil {
			t.Fatal(err)
		}
		if have := sentTo(c); len(c.Webhooks) != webhooks || have != "dogear.dev: 2 resources" {
			t.Errorf("%s: %d webhooks, %q", policy, len(c.Webhooks), have)
		}
	}
}
