package controller

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/webhook"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// Webhook configures admission. Service or URL is required.
type Webhook struct {
	// Address is where to listen. Default: ":9443".
	Address string
	// Service is how API servers reach the webhook: a Service in
	// Options.Namespace that leads to Address.
	Service string
	// ServicePort is the Service's port. Default: 443.
	ServicePort int32
	// URL is how API servers reach the webhook that runs outside of the
	// cluster, instead of Service: "https://host:9443". They take no user, query
	// and fragment.
	URL string

	// CertificateDir holds tls.crt, tls.key and ca.crt, as cert-manager mounts
	// them. Default: certificates of an own CA, kept in a Secret and rotated.
	CertificateDir string
	// Secret is the name of that Secret. Default: "<prefix>-webhook".
	Secret string

	// InjectCAFrom is the cert-manager Certificate in CertificateDir, as
	// "namespace/name". Its CA injector keeps the bundle in the configuration,
	// which holds ca.crt until then. Default: the operator keeps it.
	InjectCAFrom string

	// ControllerUsers are users whose writes pass untouched: those that the
	// controller runs as, where it runs apart from the webhook.
	ControllerUsers []string
	// Validation is served beside it; nil: nothing is.
	Validation *webhook.Validation
	// Fail refuses objects of users while no webhook answers. Default: they
	// pass unstamped, and the controller makes up for it.
	Fail bool
	// Timeout is how long API servers wait, from 1 to 30 s. Default: 2 s.
	Timeout time.Duration
	// LameDuck is how long the server goes on answering after it was told to
	// stop, so that API servers find another replica. Default: 3 s.
	LameDuck time.Duration
}

// publishEvery is how often the configuration and certificates are looked at.
const publishEvery = time.Minute

func (op *Operator) secretName() types.NamespacedName {
	name := op.options.Webhook.Secret
	if name == "" {
		name = op.name() + "-webhook"
	}
	return types.NamespacedName{Namespace: op.options.Namespace, Name: name}
}

// addWebhook adds the server to the manager.
func (op *Operator) addWebhook() error {
	if op.options.Roles&RoleWebhook == 0 {
		return nil
	}
	w := op.options.Webhook
	log := op.options.Log.WithName("webhook")
	source := cert.FromSecret(op.client, op.secretName())
	if w.CertificateDir != "" {
		source = cert.FromFiles(filepath.Join(w.CertificateDir, "tls.crt"), filepath.Join(w.CertificateDir, "tls.key"))
	}
	source.Interval, source.Log = time.Second, log
	counts, err := admissionMetrics(source.NotAfter)
	if err != nil {
		return err
	}
	op.admission.Own = op.controllerUsers()
	options := webhook.ServerOptions{
		Addr: w.Address, Source: source, Admitter: op.admission, Metrics: counts, Log: log, LameDuck: w.LameDuck,
	}
	if w.Validation != nil {
		options.Validator = w.Validation.Admitter
	}
	server, err := webhook.NewServer(options)
	if err != nil {
		return fmt.Errorf("set up the webhook: %w", err)
	}
	if err := op.manager.AddReadyzCheck("webhook", server.Ready); err != nil {
		return err
	}
	return op.manager.Add(server)
}

// controllerUsers are those whose writes admission lets pass.
func (op *Operator) controllerUsers() []string {
	users := slices.Clone(op.options.Webhook.ControllerUsers)
	if op.options.Roles&RoleController != 0 && !slices.Contains(users, op.username) {
		users = append(users, op.username)
	}
	return users
}

// newPublisher keeps the webhook's configurations and certificates.
func (op *Operator) newPublisher(wake <-chan struct{}) (*webhook.Publisher, error) {
	names, err := op.options.Webhook.names(op.options.Namespace)
	if err != nil {
		return nil, err
	}
	manager := &cert.Manager{Client: op.client, Secret: op.secretName(), Names: names, Log: op.options.Log.WithName("certificates")}
	var built *declared // Build and Published take turns
	publisher := &webhook.Publisher{
		Client: op.client, Period: publishEvery, Wake: wake, Log: op.options.Log.WithName("publisher"),
		Published: func() { op.sent.published(built, op.options.Clock.Now()) },
		Build: func(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
			bundle, err := op.caBundle(ctx, manager)
			if err != nil {
				return nil, err
			}
			now, _ := op.current()
			rules, err := op.rules(now.sets)
			if err != nil {
				return nil, err
			}
			built = now
			return webhook.Configuration(rules, op.configOptions(bundle))
		},
	}
	if v := op.options.Webhook.Validation; v != nil {
		publisher.BuildValidating = func(ctx context.Context) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
			bundle, err := op.caBundle(ctx, manager)
			if err != nil {
				return nil, err
			}
			return v.Configuration(op.configOptions(bundle))
		}
	}
	return publisher, nil
}

// caBundle is what API servers are to trust. While there is none, as a
// certificate of others is late, what was published before stays; the publisher
// tries again, and nothing else waits for it.
func (op *Operator) caBundle(ctx context.Context, manager *cert.Manager) ([]byte, error) {
	if dir := op.options.Webhook.CertificateDir; dir != "" {
		bundle, err := cert.ReadCABundle(filepath.Join(dir, "ca.crt"))
		if err != nil {
			op.sent.holdUp(err.Error())
			return nil, err
		}
		op.sent.holdUp("")
		return bundle, nil
	}
	bundle, err := manager.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	return bundle.CABundle(), nil
}

// rules asks for what is declared and served. A kind that is not served yet
// comes with the next look.
func (op *Operator) rules(sets []*selection.Set) ([]webhook.Rule, error) {
	var rules []webhook.Rule
	for _, set := range sets {
		mapping, err := op.manager.GetRESTMapper().RESTMapping(set.Kind.GroupKind(), set.Kind.Version)
		if meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("find the resource of %s: %w", set.Kind, err)
		}
		rule := webhook.Rule{Resource: mapping.Resource, Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
		if labels := set.Labels(); labels != nil {
			if rule.LabelSelector, err = metav1.ParseToLabelSelector(labels.String()); err != nil {
				return nil, fmt.Errorf("selector of %s: %w", set.Kind, err)
			}
		}
		if names := set.Namespaces(); names != nil && rule.Namespaced {
			rule.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: names},
			}}
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func (op *Operator) configOptions(bundle []byte) webhook.ConfigOptions {
	w := op.options.Webhook
	o := webhook.ConfigOptions{
		Name: op.name(), Domain: op.name(), ServiceAccounts: op.controllerUsers(), URL: w.URL, CABundle: bundle,
		TimeoutSeconds: int32(w.Timeout / time.Second), InjectCAFrom: w.InjectCAFrom,
	}
	if w.Fail {
		o.FailurePolicy = admissionregistrationv1.Fail
	}
	if w.Service != "" {
		o.OwnNamespace = op.options.Namespace
		o.Service = &admissionregistrationv1.ServiceReference{Namespace: op.options.Namespace, Name: w.Service}
		if w.ServicePort != 0 {
			o.Service.Port = &w.ServicePort
		}
	} else if u, err := url.Parse(w.URL); err == nil && (u.Path == "" || u.Path == "/") {
		o.URL = u.JoinPath("admit").String()
	}
	return o
}

// names are the names by which API servers call the webhook.
func (w *Webhook) names(namespace string) ([]string, error) {
	if w.Service != "" {
		return cert.ServiceNames(namespace, w.Service), nil
	}
	u, err := url.Parse(w.URL)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("options: Webhook.URL %q: want https://host:port", w.URL)
	}
	return []string{u.Hostname()}, nil
}

func (w *Webhook) validate() error {
	if w == nil {
		return nil
	}
	if (w.Service == "") == (w.URL == "") {
		return errors.New("options: Webhook: set Service (in a cluster) or URL (outside of one), and not both")
	}
	if u, err := url.Parse(w.URL); w.URL != "" && (err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(w.URL, "?#")) {
		return errors.New("options: Webhook.URL: want https://host:port, without user, query and fragment")
	}
	if t := w.Timeout; t != 0 && (t < time.Second || t > 30*time.Second) {
		return fmt.Errorf("options: Webhook.Timeout is %s: want 0 (default) or 1s to 30s", t)
	}
	return nil
}

// admissionMetrics are shared by all operators of the process.
func admissionMetrics(notAfter func() time.Time) (*webhook.Metrics, error) {
	admission.mu.Lock()
	defer admission.mu.Unlock()
	admission.expiries = append(admission.expiries, notAfter)
	if admission.metrics == nil {
		var err error
		if admission.metrics, err = webhook.NewMetrics(metrics.Registry, firstExpiry); err != nil {
			return nil, err
		}
	}
	return admission.metrics, nil
}

var admission struct {
	mu       sync.Mutex
	metrics  *webhook.Metrics
	expiries []func() time.Time
}

func firstExpiry() time.Time {
	admission.mu.Lock()
	defer admission.mu.Unlock()
	var first time.Time
	for _, expiry := range admission.expiries {
		if at := expiry(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
