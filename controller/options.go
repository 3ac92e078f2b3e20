package controller

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/storage"
)

// Options configures an operator. Only Domain is required.
type Options struct {
	// Domain is a DNS name that only this operator uses, such as
	// certs.example.com. Its annotations begin with "dogear.<domain>/", so it
	// must stay the same for ever.
	Domain string
	// Config tells how to reach the API server. Default: KUBECONFIG, the Pod's
	// ServiceAccount, ~/.kube/config; before them the flag --kubeconfig, if the
	// program calls flag.Parse.
	Config *rest.Config
	// Scheme knows the types of the handlers. Default: those of client-go and
	// of cert-manager.
	Scheme *runtime.Scheme
	// Namespace is where the operator keeps its own objects: its Lease, its
	// ledger and its certificates. Default: the Pod's namespace, else "default".
	Namespace string
	// Namespaces are the only ones whose objects are handled, for an operator that
	// has no rights elsewhere. Default: all.
	Namespaces []string
	// Log takes the log. Default: controller-runtime's, which prints nothing
	// before ctrl.SetLogger was called: call that first in main.
	Log logr.Logger

	// Workers is the number of objects of one kind that are handled at the
	// same time. Default: 16.
	Workers int
	// Budget bounds the annotations. Default: 64 KiB, 16 KiB a payload.
	Budget storage.Budget
	// IgnoreAnnotations lists further annotations whose change wakes nobody:
	// whole keys, or prefixes that end in "*".
	IgnoreAnnotations []string

	// LeaderElection makes several replicas take turns, by a Lease.
	LeaderElection bool
	// LeaseDuration, RenewDeadline and RetryPeriod of the Lease.
	// Default: 15 s, 10 s, 2 s.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// GracePeriod is for how long handlers may take to end, and writes, after
	// the end of the context of Start. Default: 30 s.
	GracePeriod time.Duration
	// DrainPeriod is for how long handlers under way may go on before their own
	// contexts end, too, which is no attempt then. It should be shorter than
	// GracePeriod. Default: their contexts end with that of Start.
	DrainPeriod time.Duration

	// MetricsAddress is where /metrics is served, such as ":8080".
	// Default: nowhere.
	MetricsAddress string
	// HealthAddress is where /healthz and /readyz are served. Default: nowhere.
	HealthAddress string

	// Declared says that handlers come by Operator.Declare, also after Start.
	Declared bool

	// Webhook configures admission; nil: the operator has no webhook, and the
	// controller does what admission would have done.
	Webhook *Webhook
	// Roles is what this process does. Default: all.
	Roles Role

	// Clock is the clock of the operator; tests have their own.
	Clock clock.WithTicker
}

// Role is a part of an operator that a process may take on its own.
type Role uint8

// Roles.
const (
	// RoleController watches, runs and writes; and it keeps the webhook's
	// configuration and certificates.
	RoleController Role = 1 << iota
	// RoleWebhook serves admission. It needs no rights but to read its Secret.
	RoleWebhook
)

// DefaultScheme knows the types of client-go and of cert-manager.
func DefaultScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cmapi.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // both are complete in themselves
		}
	}
	return scheme
}

// WithDefaults fills in what is zero.
func (o Options) WithDefaults() Options {
	if o.Scheme == nil {
		o.Scheme = DefaultScheme()
	}
	if o.Namespace == "" {
		o.Namespace = podNamespace()
	}
	if o.Log.GetSink() == nil {
		o.Log = ctrl.Log.WithName("dogear")
	}
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.Budget.Marker > 0 && o.Budget.Payload == 0 {
		o.Budget.Payload = min(storage.DefaultPayloadLimit, o.Budget.Marker)
	}
	o.Budget = o.Budget.WithDefaults()
	if o.GracePeriod == 0 {
		o.GracePeriod = 30 * time.Second
	}
	if o.Roles == 0 {
		o.Roles = RoleController | RoleWebhook
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Validate tells what of the options, defaults filled in, cannot be used.
func (o Options) Validate() error {
	var errs []error
	if _, err := storage.PrefixFor(o.Domain); err != nil {
		errs = append(errs, fmt.Errorf("options: Domain: %w", err))
	}
	for _, name := range o.Namespaces {
		if len(validation.IsDNS1123Label(name)) > 0 { // an empty one would mean all of them
			errs = append(errs, fmt.Errorf("options: Namespaces has %q: want names of namespaces, or leave it out for all", name))
		}
	}
	if o.Workers < 1 {
		errs = append(errs, fmt.Errorf("options: Workers is %d: want 1 or more", o.Workers))
	}
	if o.Budget.Payload > o.Budget.Marker || o.Budget.Marker > storage.ServerLimit || o.Budget.Payload < 0 {
		errs = append(errs, fmt.Errorf("options: Budget is %d bytes, %d a payload: want payload <= all <= %d",
			o.Budget.Marker, o.Budget.Payload, storage.ServerLimit))
	}
	if o.Roles&RoleController == 0 && o.Webhook == nil {
		errs = append(errs, errors.New("options: Roles leave nothing to do: set Webhook, or add RoleController"))
	}
	if err := o.Webhook.validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// podNamespace is the namespace of the Pod that this process runs in.
func podNamespace() string {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "default"
}
