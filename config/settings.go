package config

import (
	"slices"
	"time"

	"github.com/dogear-dev/dogear/storage"
)

// Roles that a process may take.
const (
	// RoleController watches, calls endpoints and writes; and it keeps the
	// webhook's configuration and certificates.
	RoleController = "controller"
	// RoleWebhook serves admission.
	RoleWebhook = "webhook"
)

// Settings of a process of the service. What each is for, its unit and default
// are in the table of entries.go, from which flags and their help are made.
type Settings struct {
	Roles      []string // none: see Has
	Namespace  string
	Namespaces []string // none: the whole cluster
	// UninstallAccount is bound in these namespaces, too.
	UninstallAccount string
	Workers          int
	GracePeriod      time.Duration
	Budget           storage.Budget

	LeaderElect                               bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	MetricsAddress, HealthAddress string
	IgnoreAnnotations             []string

	NamespacedResources []string
	AllowSecrets        bool
	URLPrefixes         []string
	AllowedNetworks     []string
	DeniedNetworks      []string
	AllowLoopback       bool

	Webhook  Webhook
	Callback Callback
	Log      Log
}

// Webhook has the settings of admission.
type Webhook struct {
	Address           string
	Service           string
	ServicePort       int
	URL               string
	CertificateDir    string
	Secret            string
	InjectCAFrom      string // namespace/name of a Certificate
	ControllerUsers   []string
	Fail              bool
	Timeout, LameDuck time.Duration
}

// Enabled tells whether the installation has a webhook.
func (w Webhook) Enabled() bool { return w.Service != "" || w.URL != "" }

// Callback has the settings of the server that takes outcomes later.
type Callback struct {
	Address        string
	Service        string
	ServicePort    int
	URL            string
	CertificateDir string
}

// Enabled tells whether outcomes are taken later.
func (c Callback) Enabled() bool { return c.Address != "" }

// Log has the settings of the log.
type Log struct {
	Level, Format string
}

// Default returns the settings that hold where nothing is set.
func Default() Settings {
	return Settings{
		Workers:     64, // they wait for endpoints most of the time
		GracePeriod: 30 * time.Second,
		Budget:      storage.Budget{}.WithDefaults(),

		LeaderElect:   true,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,

		MetricsAddress: ":8080", HealthAddress: ":8081",

		NamespacedResources: []string{"*.*"},

		Webhook:  Webhook{Address: ":9443", ServicePort: 443, Timeout: 2 * time.Second, LameDuck: 3 * time.Second},
		Callback: Callback{ServicePort: 443},
		Log:      Log{Level: "info", Format: "json"},
	}
}

// Has tells whether the process takes a role. Where none are set it takes
// those that there are: controller, and webhook if the installation has one.
func (s Settings) Has(role string) bool { return slices.Contains(s.roles(), role) }

func (s Settings) roles() []string {
	switch {
	case len(s.Roles) > 0:
		return s.Roles
	case s.Webhook.Enabled():
		return []string{RoleController, RoleWebhook}
	}
	return []string{RoleController}
}
