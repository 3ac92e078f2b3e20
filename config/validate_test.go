package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/config"
)

// valid are settings with a webhook and a callback.
func valid() config.Settings {
	s := config.Default()
	s.Webhook.Service = "dogear"
	s.Callback.Address, s.Callback.Service = ":9444", "dogear"
	return s
}

func TestValidateNamesTheSetting(t *testing.T) {
	t.Parallel()
	if err := valid().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*config.Settings){
		`roles: "web": want one of controller, webhook`:       func(s *config.Settings) { s.Roles = []string{"controller", "web"} },
		`namespace: "A": want the name of a namespace`:        func(s *config.Settings) { s.Namespace = "A" },
		`namespaces: "B": want the name of a namespace`:       func(s *config.Settings) { s.Namespaces = []string{"a", "B"} },
		`webhook.injectCAFrom: "a": want namespace/name`:      func(s *config.Settings) { s.Webhook.CertificateDir, s.Webhook.InjectCAFrom = "d", "a" },
		"webhook.injectCAFrom: webhook.certificateDir is not": func(s *config.Settings) { s.Webhook.InjectCAFrom = "a/b" },
		"workers: 0: want 1 to 1024":                          func(s *config.Settings) { s.Workers = 0 },
		"gracePeriod: -1s: want 0s to 1h0m0s":                 func(s *config.Settings) { s.GracePeriod = -time.Second },
		"budget.marker: 300000 bytes: want 4096 to 262144":    func(s *config.Settings) { s.Budget.Marker = 300000 },
		"budget.payload: 70000 bytes: want 256 to":            func(s *config.Settings) { s.Budget.Payload = 70000 },
		`metricsAddress: "8080": want host:port or :port`:     func(s *config.Settings) { s.MetricsAddress = "8080" },
		`healthAddress: ":99999": want host:port`:             func(s *config.Settings) { s.HealthAddress = ":99999" },
		`healthAddress: "a b:1": want host:port`:              func(s *config.Settings) { s.HealthAddress = "a b:1" },
		`webhook.address: "a:http": want host:port`:           func(s *config.Settings) { s.Webhook.Address = "a:http" },
		`ignoreAnnotations: "*": want a whole key`:            func(s *config.Settings) { s.IgnoreAnnotations = []string{"*"} },
		"retryPeriod: 0s: want 100ms to 1m0s":                 func(s *config.Settings) { s.RetryPeriod = 0 },
		"renewDeadline: 2s: want more than 1.2 times":         func(s *config.Settings) { s.RenewDeadline = 2 * time.Second },
		"leaseDuration: 10s: want more than renewDeadline":    func(s *config.Settings) { s.LeaseDuration = 10 * time.Second },
		`namespacedResources: "*": resources of the core`:     func(s *config.Settings) { s.NamespacedResources = []string{"*"} },
		`namespacedResources: "a*.b": * stands for a whole`:   func(s *config.Settings) { s.NamespacedResources = []string{"a*.b"} },
		`namespacedResources: "a/b/c": want a resource`:       func(s *config.Settings) { s.NamespacedResources = []string{"a/b/c"} },
		`namespacedResources: "A.b": names of resources and`:  func(s *config.Settings) { s.NamespacedResources = []string{"A.b"} },
		`namespacedResources: "": want a resource such as`:    func(s *config.Settings) { s.NamespacedResources = []string{""} },
		`urlPrefixes: "http://a": want https://host`:          func(s *config.Settings) { s.URLPrefixes = []string{"http://a"} },
		`urlPrefixes: "https://": want https://host`:          func(s *config.Settings) { s.URLPrefixes = []string{"https://"} },
		`urlPrefixes: "https://a/../b": its path has`:         func(s *config.Settings) { s.URLPrefixes = []string{"https://a/../b"} },
		`urlPrefixes: "https://a?b": a prefix has no query`:   func(s *config.Settings) { s.URLPrefixes = []string{"https://a?b"} },
		`allowedNetworks: "10.0.0.1/8": there are bits`:       func(s *config.Settings) { s.AllowedNetworks = []string{"10.0.0.1/8"} },
		`deniedNetworks: "ten": want a network such as`:       func(s *config.Settings) { s.DeniedNetworks = []string{"ten"} },
		"webhook.service: the role webhook needs it":          func(s *config.Settings) { s.Webhook.Service, s.Roles = "", []string{"webhook", "controller"} },
		"webhook.url: webhook.service is set, too":            func(s *config.Settings) { s.Webhook.URL = "https://a" },
		`uninstallAccount: "ns/x": want the name`:             func(s *config.Settings) { s.UninstallAccount = "ns/x" },
		`webhook.service: "a.b": want the name of a Service`:  func(s *config.Settings) { s.Webhook.Service = "a.b" },
		"webhook.url: want https://host:port":                 func(s *config.Settings) { s.Webhook.Service, s.Webhook.URL = "", "http://a" },
		"webhook.address: none":                               func(s *config.Settings) { s.Webhook.Address = "" },
		"webhook.servicePort: 0: want a port":                 func(s *config.Settings) { s.Webhook.ServicePort = 0 },
		"webhook.timeout: 31s: want 1s to 30s":                func(s *config.Settings) { s.Webhook.Timeout = 31 * time.Second },
		"webhook.timeout: 1.5s: want whole seconds":           func(s *config.Settings) { s.Webhook.Timeout = 1500 * time.Millisecond },
		"webhook.lameDuck: 2m0s: want 0s to 1m0s":             func(s *config.Settings) { s.Webhook.LameDuck = 2 * time.Minute },
		`webhook.secret: "A": want the name of a Secret`:      func(s *config.Settings) { s.Webhook.Secret = "A" },
		"webhook.controllerUsers: none: a webhook apart":      func(s *config.Settings) { s.Roles = []string{"webhook"} },
		"callback.url: callback.service is set, too":          func(s *config.Settings) { s.Callback.URL = "https://a" },
		"callback.service: callback.address needs it":         func(s *config.Settings) { s.Callback.Service = "" },
		"callback.address: none, though callback.service":     func(s *config.Settings) { s.Callback.Address = "" },
		`log.level: "loud": want one of debug, info, error`:   func(s *config.Settings) { s.Log.Level = "loud" },
		`log.format: "xml": want one of json, console`:        func(s *config.Settings) { s.Log.Format = "xml" },
	} {
		s := valid()
		change(&s)
		err := s.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s, alone", err, want)
		}
	}
}

func TestEveryProblemIsTold(t *testing.T) {
	t.Parallel()
	s := valid()
	s.Workers, s.Log.Level, s.Webhook.ServicePort = 0, "", -1
	if err := s.Validate(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v: want three problems", err)
	}
}

// Settings are checked where they are written, too: nothing is asked of a network.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", ":9443", "127.0.0.1:0", "[::1]:9443", "[fe80::1%eth0]:1", "no-such-host.example.invalid:9443"} {
		s := valid()
		s.MetricsAddress = address
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsOffIsNotLookedAt(t *testing.T) {
	t.Parallel()
	s := config.Default()
	s.Roles = []string{"controller"}
	s.LeaderElect, s.LeaseDuration = false, 0
	s.Webhook.Timeout = 0
	s.MetricsAddress, s.HealthAddress = "", ""
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if s.Webhook.Enabled() || s.Callback.Enabled() || s.Has("webhook") {
		t.Error("neither a webhook nor callbacks are set")
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.0/8": "10.0.0.0/8", "10.0.0.1": "10.0.0.1/32", "fd00::/8": "fd00::/8", "::1": "::1/128", "::ffff:10.0.0.1": "10.0.0.1/32",
	} {
		if got, err := config.ParseNetwork(text); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v: want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10.0.0.0/33", "10.0.0.1/8", "fe80::1%eth0", "localhost"} {
		if _, err := config.ParseNetwork(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Addresses by which others call this process are refused here, and not when they
// are made use of.
func TestURLs(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"https://h": "", "https://h:9443": "", "https://h/path/admit": "", "https://[2001:db8::1]:443/": "", "https://h:65535": "",
		"http://h": "want https://host:port", "https://": "want https://host:port", "https://:99999 x": "want https://host:port", "h:443": "want https://host:port",
		"https://:443": "want https://host:port", "//h": "want https://host:port",
		"https://u@h": "without user, query and fragment", "https://u:hunter2@h": "without user, query and fragment",
		"https://h/x?y=1": "without user, query and fragment", "https://h?": "without user, query and fragment",
		"https://h/#x": "without user, query and fragment", "https://h#": "without user, query and fragment",
		"https://h:0": "a port from 1 to 65535", "https://h:65536": "a port from 1 to 65535", "https://h:": "a port from 1 to 65535",
		"https://h/a b": "without spaces",
	} {
		for path, change := range map[string]func(*config.Settings){
			"webhook.url: ":  func(s *config.Settings) { s.Webhook.Service, s.Webhook.URL = "", value },
			"callback.url: ": func(s *config.Settings) { s.Callback.Service, s.Callback.URL = "", value },
		} {
			s := valid()
			change(&s)
			switch err := s.Validate(); {
			case want == "" && err != nil:
				t.Errorf("%s%q: %v", path, value, err)
			case want != "" && (err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("%s%q: got %v, want %q", path, value, err, want)
			}
		}
	}
}
