package webhook

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dogear-dev/dogear/webhook/cert"
)

const (
	maxName = 253
	// maxDomain leaves room for a resource (63) and a digest before it.
	maxDomain = 160

	defaultPath = "/admit"
	defaultPort = 443
)

var (
	// ErrConfig is wrapped by every error about [ConfigOptions] that cannot work.
	ErrConfig = errors.New("webhook configuration")
	// ErrEmptyCABundle says that there is no authority to trust. A configuration
	// without one makes every call fail, so that everything passes unmarked.
	ErrEmptyCABundle = errors.New("webhook configuration: the CA bundle is empty or unreadable")
)

// ConfigOptions say what is the same in all webhooks of a configuration. Name,
// Domain, CABundle, and Service or URL are needed.
type ConfigOptions struct {
	// Name of the configuration object.
	Name string
	// Domain ends the name of each webhook: "dogear.dev", or an SDK operator's
	// prefix.
	Domain string
	// Labels are set on the object.
	Labels map[string]string
	// ServiceAccounts are full user names ("system:serviceaccount:ns:name")
	// whose requests are not sent: the controllers' own.
	ServiceAccounts []string
	// OwnNamespace is excluded, besides kube-system and kube-node-lease.
	OwnNamespace string
	// Service is what the API server calls. A nil path means /admit, a nil port 443.
	Service *admissionregistrationv1.ServiceReference
	// URL is called instead, if set: https, without user, query and fragment.
	URL string
	// CABundle is PEM with every authority that the API server shall trust.
	CABundle []byte
	// InjectCAFrom is a cert-manager Certificate, as "namespace/name", of whose
	// authority others keep the bundle: CABundle is for the time before.
	InjectCAFrom string
	// FailurePolicy is for calls that fail. Default: Ignore.
	FailurePolicy admissionregistrationv1.FailurePolicyType
	// TimeoutSeconds is the API server's patience, 1 to 30. Default: 2.
	TimeoutSeconds int32
}

// WithDefaults returns the options with the default for each zero field.
func (o ConfigOptions) WithDefaults() ConfigOptions {
	if o.FailurePolicy == "" {
		o.FailurePolicy = admissionregistrationv1.Ignore
	}
	if o.TimeoutSeconds == 0 {
		o.TimeoutSeconds = 2
	}
	return o
}

// Validate names the first field that is missing or out of bounds.
func (o ConfigOptions) Validate() error {
	if _, err := cert.ParseCABundle(o.CABundle); err != nil {
		return fmt.Errorf("%w: %w", ErrEmptyCABundle, err)
	}
	if faults := validation.IsDNS1123Subdomain(o.Name); len(faults) > 0 {
		return fmt.Errorf("%w: Name %q: %s", ErrConfig, o.Name, faults[0])
	}
	if faults := validation.IsDNS1123Subdomain(o.Domain); len(faults) > 0 {
		return fmt.Errorf("%w: Domain %q: %s", ErrConfig, o.Domain, faults[0])
	}
	switch {
	case len(o.Domain) > maxDomain:
		return fmt.Errorf("%w: Domain has %d bytes, at most %d are possible", ErrConfig, len(o.Domain), maxDomain)
	case o.FailurePolicy != admissionregistrationv1.Ignore && o.FailurePolicy != admissionregistrationv1.Fail:
		return fmt.Errorf("%w: FailurePolicy is %q, want Ignore or Fail", ErrConfig, o.FailurePolicy)
	case o.TimeoutSeconds < 1 || o.TimeoutSeconds > 30:
		return fmt.Errorf("%w: TimeoutSeconds is %d, want 1 to 30", ErrConfig, o.TimeoutSeconds)
	}
	return o.validateTarget()
}

func (o ConfigOptions) validateTarget() error {
	if o.Service != nil {
		switch {
		case o.URL != "":
			return fmt.Errorf("%w: Service and URL are both set", ErrConfig)
		case o.Service.Namespace == "" || o.Service.Name == "":
			return fmt.Errorf("%w: Service lacks a namespace or a name", ErrConfig)
		}
		return nil
	}
	target, err := url.Parse(o.URL)
	if err != nil || target.Scheme != "https" || target.Host == "" || target.User != nil || target.RawQuery != "" || target.Fragment != "" {
		return fmt.Errorf("%w: URL must be https with a host, without user, query and fragment, unless Service is set", ErrConfig)
	}
	return nil
}

func (o ConfigOptions) clientConfig() admissionregistrationv1.WebhookClientConfig {
	return o.clientConfigFor(defaultPath)
}

func (o ConfigOptions) clientConfigFor(path string) admissionregistrationv1.WebhookClientConfig {
	config := admissionregistrationv1.WebhookClientConfig{CABundle: o.CABundle}
	if o.Service == nil {
		config.URL = new(o.URL)
		if path != defaultPath {
			config.URL = new(strings.TrimSuffix(o.URL, defaultPath) + path)
		}
		return config
	}
	config.Service = o.Service.DeepCopy()
	if config.Service.Path == nil {
		config.Service.Path = new(path)
	}
	if config.Service.Port == nil {
		config.Service.Port = new(int32(defaultPort))
	}
	return config
}
