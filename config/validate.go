package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dogear-dev/dogear/storage"
)

// problem is what is wrong with a setting.
type problem struct{ path, text string }

// Validate tells what of the settings cannot be used, and by which names.
func (s Settings) Validate() error {
	var errs []error
	for _, p := range s.problems() {
		errs = append(errs, fmt.Errorf("%s: %s", p.path, p.text))
	}
	return errors.Join(errs...)
}

func (s Settings) problems() []problem {
	c := &checker{}
	s.checkProcess(c)
	s.checkLease(c)
	s.checkTenancy(c)
	s.checkWebhook(c)
	s.checkCallback(c)
	c.oneOf("log.level", s.Log.Level, "debug", "info", "error")
	c.oneOf("log.format", s.Log.Format, "json", "console")
	return c.problems
}

type checker struct{ problems []problem }

func (c *checker) bad(path, format string, args ...any) {
	c.problems = append(c.problems, problem{path, fmt.Sprintf(format, args...)})
}

func (c *checker) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		c.bad(path, "%q: want one of %s", value, strings.Join(allowed, ", "))
	}
}

func (c *checker) within(path string, value, least, most time.Duration) {
	if value < least || value > most {
		c.bad(path, "%s: want %s to %s", value, least, most)
	}
}

func (c *checker) port(path string, value int) {
	if value < 1 || value > 65535 {
		c.bad(path, "%d: want a port from 1 to 65535", value)
	}
}

// address checks where to listen; empty is fine.
func (c *checker) address(path, value string) {
	if value == "" {
		return
	}
	// No name is looked up: that is for the one who listens.
	host, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || strings.ContainsAny(host, " /") {
		c.bad(path, "%q: want host:port or :port", value)
	}
}

func (c *checker) service(path, value string) {
	if value != "" && len(validation.IsDNS1035Label(value)) > 0 {
		c.bad(path, "%q: want the name of a Service, without namespace and domain", value)
	}
}

// url checks where others call this process; empty is fine. It is not repeated,
// as there may be a password in it.
func (c *checker) url(path, value string) {
	if value == "" {
		return
	}
	u, err := url.Parse(value)
	switch {
	case err != nil, u.Scheme != "https", u.Hostname() == "":
		c.bad(path, "want https://host:port")
	case u.User != nil || strings.ContainsAny(value, "?#"):
		c.bad(path, "want https://host:port without user, query and fragment: API servers and endpoints take none")
	case strings.HasSuffix(u.Host, ":") || u.Port() != "" && !isPort(u.Port()):
		c.bad(path, "want https://host:port, with a port from 1 to 65535, or none for 443")
	case strings.ContainsAny(value, " \t"):
		c.bad(path, "want https://host:port, without spaces")
	}
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

func (s Settings) checkProcess(c *checker) {
	for _, role := range s.Roles {
		c.oneOf("roles", role, RoleController, RoleWebhook)
	}
	if s.Namespace != "" && len(validation.IsDNS1123Label(s.Namespace)) > 0 {
		c.bad("namespace", "%q: want the name of a namespace", s.Namespace)
	}
	for _, name := range s.Namespaces {
		if len(validation.IsDNS1123Label(name)) > 0 {
			c.bad("namespaces", "%q: want the name of a namespace", name)
		}
	}
	if s.UninstallAccount != "" && len(validation.IsDNS1123Subdomain(s.UninstallAccount)) > 0 {
		c.bad("uninstallAccount", "%q: want the name of a ServiceAccount, without namespace", s.UninstallAccount)
	}
	if s.Workers < 1 || s.Workers > 1024 {
		c.bad("workers", "%d: want 1 to 1024", s.Workers)
	}
	c.within("gracePeriod", s.GracePeriod, 0, time.Hour)
	if s.Budget.Marker < 4096 || s.Budget.Marker > storage.ServerLimit {
		c.bad("budget.marker", "%d bytes: want 4096 to %d", s.Budget.Marker, storage.ServerLimit)
	}
	if s.Budget.Payload < 256 || s.Budget.Payload > s.Budget.Marker {
		c.bad("budget.payload", "%d bytes: want 256 to budget.marker, which is %d", s.Budget.Payload, s.Budget.Marker)
	}
	c.address("metricsAddress", s.MetricsAddress)
	c.address("healthAddress", s.HealthAddress)
	for _, key := range s.IgnoreAnnotations {
		if prefix := strings.TrimSuffix(key, "*"); prefix == "" || strings.Contains(prefix, "*") {
			c.bad("ignoreAnnotations", "%q: want a whole key, or a prefix that ends in *", key)
		}
	}
}

func (s Settings) checkLease(c *checker) {
	if !s.LeaderElect {
		return
	}
	c.within("retryPeriod", s.RetryPeriod, 100*time.Millisecond, time.Minute)
	if s.RenewDeadline <= s.RetryPeriod*6/5 {
		c.bad("renewDeadline", "%s: want more than 1.2 times retryPeriod, which is %s", s.RenewDeadline, s.RetryPeriod)
	}
	if s.LeaseDuration <= s.RenewDeadline {
		c.bad("leaseDuration", "%s: want more than renewDeadline, which is %s", s.LeaseDuration, s.RenewDeadline)
	}
	c.within("leaseDuration", s.LeaseDuration, time.Second, time.Hour)
}

func (s Settings) checkTenancy(c *checker) {
	for _, text := range s.NamespacedResources {
		if _, err := parsePattern(text); err != nil {
			c.bad("namespacedResources", "%s", err)
		} else if small := strings.ToLower(text); text != small {
			c.bad("namespacedResources", "%q: names of resources and groups have no capitals: want %q", text, small)
		}
	}
	for _, prefix := range s.URLPrefixes {
		if _, err := parseEndpoint(prefix); err != nil {
			c.bad("urlPrefixes", "%q: %s", prefix, err)
		} else if strings.Contains(prefix, "?") {
			c.bad("urlPrefixes", "%q: a prefix has no query", prefix)
		}
	}
	c.networks("allowedNetworks", s.AllowedNetworks)
	c.networks("deniedNetworks", s.DeniedNetworks)
}

func (c *checker) networks(path string, networks []string) {
	for _, network := range networks {
		if _, err := ParseNetwork(network); err != nil {
			c.bad(path, "%s", err)
		}
	}
}

// ParseNetwork reads a network such as 10.1.0.0/16, or a single address.
func ParseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, fmt.Errorf("%q: want a network such as 10.1.0.0/16, or an address", text)
	}
	if prefix != prefix.Masked() {
		return prefix, fmt.Errorf("%q: there are bits behind the prefix: want %s", text, prefix.Masked())
	}
	return prefix, nil
}

func (s Settings) checkWebhook(c *checker) {
	w := s.Webhook
	c.service("webhook.service", w.Service)
	c.url("webhook.url", w.URL)
	switch {
	case w.Service != "" && w.URL != "":
		c.bad("webhook.url", "webhook.service is set, too: set one of them")
	case !w.Enabled() && s.Has(RoleWebhook):
		c.bad("webhook.service", "the role webhook needs it, or webhook.url: set one of them, or leave webhook out of roles")
	case !w.Enabled():
		return
	}
	if w.Address == "" && s.Has(RoleWebhook) {
		c.bad("webhook.address", "none: want host:port or :port")
	}
	c.address("webhook.address", w.Address)
	c.port("webhook.servicePort", w.ServicePort)
	c.within("webhook.timeout", w.Timeout, time.Second, 30*time.Second)
	if w.Timeout%time.Second != 0 {
		c.bad("webhook.timeout", "%s: want whole seconds", w.Timeout)
	}
	c.within("webhook.lameDuck", w.LameDuck, 0, time.Minute)
	if w.Secret != "" && len(validation.IsDNS1123Subdomain(w.Secret)) > 0 {
		c.bad("webhook.secret", "%q: want the name of a Secret", w.Secret)
	}
	if from := w.InjectCAFrom; from != "" {
		namespace, name, ok := strings.Cut(from, "/")
		if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			c.bad("webhook.injectCAFrom", "%q: want namespace/name of a Certificate", from)
		}
		if w.CertificateDir == "" {
			c.bad("webhook.injectCAFrom", "webhook.certificateDir is not set: mount the Certificate's Secret, and name its folder there")
		}
	}
	if s.Has(RoleWebhook) && !s.Has(RoleController) && len(w.ControllerUsers) == 0 {
		c.bad("webhook.controllerUsers", "none: a webhook apart from the controller must know the user that the controller runs as, "+
			"such as system:serviceaccount:dogear:dogear")
	}
}

func (s Settings) checkCallback(c *checker) {
	b := s.Callback
	c.address("callback.address", b.Address)
	c.service("callback.service", b.Service)
	c.url("callback.url", b.URL)
	c.port("callback.servicePort", b.ServicePort)
	switch {
	case b.Service != "" && b.URL != "":
		c.bad("callback.url", "callback.service is set, too: set one of them")
	case b.Enabled() && b.Service == "" && b.URL == "":
		c.bad("callback.service", "callback.address needs it, or callback.url: set one of them, so that endpoints can be told where to send outcomes")
	case !b.Enabled() && (b.Service != "" || b.URL != ""):
		c.bad("callback.address", "none, though callback.service or callback.url is set: want host:port or :port")
	}
}
