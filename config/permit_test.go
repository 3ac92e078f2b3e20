package config_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config"
)

func TestResourcesOfNamespacedSets(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		allowed  []string // nil: the default
		resource string
		want     bool
	}{
		"by default, a resource with a group":   {nil, "certificates.cert-manager.io", true},
		"by default, none of the core group":    {nil, "services", false},
		"a core resource by name":               {[]string{"services"}, "services", true},
		"a core resource with a slash":          {[]string{"/services"}, "services", true},
		"another core resource":                 {[]string{"services"}, "pods", false},
		"the same name in a group":              {[]string{"services"}, "services.example.com", false},
		"by resource.group":                     {[]string{"certificates.cert-manager.io"}, "certificates.cert-manager.io", true},
		"by group/resource":                     {[]string{"cert-manager.io/certificates"}, "certificates.cert-manager.io", true},
		"another resource of the group":         {[]string{"cert-manager.io/certificates"}, "issuers.cert-manager.io", false},
		"a whole group":                         {[]string{"*.cert-manager.io"}, "issuers.cert-manager.io", true},
		"a whole group with a slash":            {[]string{"cert-manager.io/*"}, "issuers.cert-manager.io", true},
		"a group that ends in it":               {[]string{"*.cert-manager.io"}, "orders.acme.cert-manager.io", false},
		"a resource of all groups":              {[]string{"*/backups"}, "backups.example.com", true},
		"a resource of all groups but the core": {[]string{"*/services"}, "services", false},
		"nothing allowed":                       {[]string{}, "certificates.cert-manager.io", false},
	} {
		s := config.Default()
		if test.allowed != nil {
			s.NamespacedResources = test.allowed
		}
		err := s.PermitResource(schema.ParseGroupResource(test.resource), true)
		if (err == nil) != test.want {
			t.Errorf("%s: got %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "namespacedResources") {
			t.Errorf("%s: got %v: want the setting's name", name, err)
		}
		if err := s.PermitResource(schema.ParseGroupResource(test.resource), false); err != nil {
			t.Errorf("%s, for a ClusterHandlerSet: %v", name, err)
		}
	}
}

func TestSecretsNeedPermission(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	s := config.Default()
	s.NamespacedResources = []string{"secrets"}
	for _, namespaced := range []bool{false, true} {
		if err := s.PermitResource(secrets, namespaced); err == nil || !strings.Contains(err.Error(), "allowSecrets") {
			t.Errorf("got %v", err)
		}
	}
	s.AllowSecrets = true
	if err := s.PermitResource(secrets, true); err != nil {
		t.Error(err)
	}
	s.NamespacedResources = nil
	if err := s.PermitResource(secrets, true); err == nil {
		t.Error("allowSecrets alone lets HandlerSets name secrets")
	}
	if err := s.PermitResource(secrets, false); err != nil {
		t.Error(err)
	}
}

func TestNoSettingAllowsWhatIsForbidden(t *testing.T) {
	t.Parallel()
	s := config.Default()
	s.NamespacedResources = []string{"*.*", "events"}
	for _, resource := range []string{"events", "leases.coordination.k8s.io", "handlersets.dogear.dev"} {
		if err := s.PermitResource(schema.ParseGroupResource(resource), true); err == nil || !strings.Contains(err.Error(), "no set may name") {
			t.Errorf("%s: got %v", resource, err)
		}
	}
}

func TestURLPrefixesAreComparedByWhatTheyMean(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		prefix, url string
		want        bool
	}{
		{"https://a.example.com", "https://a.example.com", true},
		{"https://a.example.com", "https://a.example.com/", true},
		{"https://a.example.com/", "https://a.example.com", true},
		{"https://a.example.com", "https://a.example.com:443/x?y=z", true},
		{"https://a.example.com:443", "https://A.Example.COM/x", true},
		{"https://a.example.com/hooks", "https://a.example.com/hooks/x", true},
		{"https://a.example.com/hooks/", "https://a.example.com/hooks", true},
		{"https://a.example.com/hooks", "https://a.example.com/%68ooks/x", true},
		{"https://[fd00::1]", "https://[FD00:0::1]:443/x", true},

		{"https://a.example.com", "https://a.example.com.evil.org", false},
		{"https://a.example.com", "https://a.example.com:8443", false},
		{"https://a.example.com", "https://a.example.com@evil.org/", false},
		{"https://a.example.com", "https://evil.org/https://a.example.com", false},
		{"https://a.example.com", "https://evil.org#https://a.example.com", false},
		{"https://a.example.com", "https://b.example.com", false},
		{"https://a.example.com", "http://a.example.com", false},
		{"https://a.example.com", "//a.example.com", false},
		{"https://a.example.com", "https:a.example.com", false},
		{"https://a.example.com", `https://a.example.com\@evil.org`, false},
		{"https://a.example.com/hooks", "https://a.example.com/hooks-evil", false},
		{"https://a.example.com/hooks", "https://a.example.com/", false},
		{"https://a.example.com/hooks", "https://a.example.com/Hooks", false},
		{"https://a.example.com/hooks", "https://a.example.com/hooks/../admin", false},
		{"https://a.example.com/hooks", "https://a.example.com/hooks/%2e%2e/admin", false},
		{"https://a.example.com/hooks", "https://a.example.com/hooks/..%2fadmin", false},
		{"https://a.example.com/hooks", `https://a.example.com/hooks/..%5cadmin`, false},
		{"https://a.example.com/hooks", "https://a.example.com//hooks", false},
		{"", "https://a.example.com", false},
	} {
		s := config.Default()
		if test.prefix != "" {
			s.URLPrefixes = []string{test.prefix}
		}
		if err := s.PermitURL(test.url); (err == nil) != test.want {
			t.Errorf("%s under %q: got %v", test.url, test.prefix, err)
		}
	}
}

func TestWhatIsRefusedIsNotRepeatedWithItsQuery(t *testing.T) {
	t.Parallel()
	err := config.Default().PermitURL("https://a.example.com/hooks?token=geheim")
	if err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "https://a.example.com:443/hooks: no allowed prefix") {
		t.Errorf("got %v", err)
	}
}
