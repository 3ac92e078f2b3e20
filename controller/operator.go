package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/webhook"
)

// Operator runs handlers on objects. It is made by New.
type Operator struct {
	options       Options
	prefix        storage.Prefix
	registrations []handler.Registration

	declaring  sync.Mutex
	declared   *declared     // nil: nothing yet
	redeclared chan struct{} // closed when declared is another
	admission  *webhook.Admission
	gates      gates
	fleet      fleet
	tracker    *tracker
	ledgering  sync.Mutex // held while the ledger is changed
	ledger     atomic.Pointer[ledger]
	sent       sent

	// Set by connect.
	config    *rest.Config
	manager   manager.Manager
	client    client.Client // uncached
	discovery discovery.DiscoveryInterface
	schemas   *schemas
	username  string
	lease     *lease // nil: no leader election
	fence     atomic.Int64
}

// New makes an operator, which has nothing to do yet: see handler.Register.
// It fails where the options cannot be used, and says which and why.
func New(options Options) (*Operator, error) {
	options = options.WithDefaults()
	if err := options.Validate(); err != nil {
		return nil, err
	}
	prefix, err := storage.PrefixFor(options.Domain)
	if err != nil {
		return nil, err
	}
	return &Operator{
		options: options, prefix: prefix, tracker: newTracker(), redeclared: make(chan struct{}),
		admission: &webhook.Admission{Prefix: prefix, Budget: options.Budget, Log: options.Log.WithName("webhook")},
		fleet:     fleet{kinds: map[schema.GroupKind]*running{}},
	}, nil
}

// Add implements handler.Registry; use handler.Register.
func (op *Operator) Add(r handler.Registration) { op.registrations = append(op.registrations, r) }

// Prefix is the prefix of the operator's annotations.
func (op *Operator) Prefix() string { return string(op.prefix) }

// Namespace is where the operator keeps its own objects.
func (op *Operator) Namespace() string { return op.options.Namespace }

// Username is the user that the operator acts as, which is known once Manager
// has connected.
func (op *Operator) Username() string { return op.username }

// name is the name of the operator's own objects.
func (op *Operator) name() string { return string(op.prefix) }

// Start runs the operator until ctx ends, and then until running handlers have
// ended, within Options.GracePeriod. It fails at once where a registration
// cannot be used, and when the Lease is lost: end the process then.
func (op *Operator) Start(ctx context.Context) error {
	if !op.options.Declared {
		if err := op.declareRegistered(); err != nil {
			return err
		}
	}
	if _, err := op.Manager(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	pending.add(op.tracker)
	defer pending.remove(op.tracker)
	if op.options.Roles&RoleController != 0 {
		if err := op.manager.Add(manager.RunnableFunc(op.control)); err != nil {
			return fmt.Errorf("add the controller: %w", err)
		}
	}
	if op.options.Webhook != nil {
		if err := op.addWebhook(); err != nil {
			return err
		}
	}
	return op.manager.Start(ctx)
}

// declareRegistered declares what was registered by Add.
func (op *Operator) declareRegistered() error {
	if len(op.registrations) == 0 {
		return errors.New("no handler is registered: call handler.Register before Start")
	}
	if err := op.Declare(Declaration{Registrations: op.registrations}); err != nil {
		return err
	}
	for _, set := range op.declared.sets {
		for _, pair := range set.Shared() {
			op.options.Log.Info("Two handlers write to the same place of status: the last to run replaces the other's payload", "kind", set.Kind.Kind, "handlers", pair)
		}
	}
	return nil
}

// Manager connects to the API server and returns the manager that the operator
// runs in, for what is to run beside it: under its Lease, with its metrics and
// probes. It is of use before Start.
func (op *Operator) Manager(ctx context.Context) (manager.Manager, error) {
	if op.manager == nil {
		if err := op.connect(ctx); err != nil {
			return nil, err
		}
	}
	return op.manager, nil
}

// connect makes the clients.
func (op *Operator) connect(ctx context.Context) error {
	cfg := op.options.Config
	if cfg == nil {
		var err error
		if cfg, err = ctrl.GetConfig(); clientcmd.IsEmptyConfig(err) {
			return errors.New("no cluster is known: set KUBECONFIG to a file that exists, or run in a Pod")
		} else if err != nil {
			return fmt.Errorf("find the API server: %w", err)
		}
	}
	cfg = rest.CopyConfig(cfg)
	if cfg.UserAgent == "" {
		cfg.UserAgent = fieldManager + "/" + op.options.Domain
	}
	if cfg.QPS == 0 {
		cfg.QPS = -1 // the API server's priority and fairness paces requests
	}
	cfg.WarningHandlerWithContext = rest.NoWarnings{}
	op.config = cfg
	var err error
	if op.manager, err = op.newManager(cfg); err != nil {
		return fmt.Errorf("set up the manager: %w", err)
	}
	httpClient := op.manager.GetHTTPClient()
	if op.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(cfg, httpClient); err != nil {
		return fmt.Errorf("set up discovery: %w", err)
	}
	op.client, err = client.New(cfg, client.Options{HTTPClient: httpClient, Scheme: op.options.Scheme, Mapper: op.manager.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("set up the client: %w", err)
	}
	op.schemas = newSchemas(op.discovery, op.options.Clock)
	return op.whoAmI(ctx)
}

func (op *Operator) newManager(cfg *rest.Config) (manager.Manager, error) {
	o := op.options
	options := manager.Options{
		Scheme:                        o.Scheme,
		Logger:                        o.Log,
		LeaderElection:                o.LeaderElection && o.Roles&RoleController != 0,
		LeaderElectionID:              op.name(),
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: addressOrNone(o.MetricsAddress)},
		HealthProbeBindAddress:        addressOrNone(o.HealthAddress),
		GracefulShutdownTimeout:       &o.GracePeriod,
		Controller:                    config.Controller{SkipNameValidation: new(true)},
	}
	for _, name := range o.Namespaces {
		if options.Cache.DefaultNamespaces == nil {
			options.Cache.DefaultNamespaces = map[string]cache.Config{}
		}
		options.Cache.DefaultNamespaces[name] = cache.Config{}
	}
	if options.LeaderElection {
		duration, deadline := cmp.Or(o.LeaseDuration, defaultLeaseDuration), cmp.Or(o.RenewDeadline, defaultRenewDeadline)
		options.LeaseDuration, options.RenewDeadline = &duration, &deadline
		options.RetryPeriod = new(cmp.Or(o.RetryPeriod, defaultRetryPeriod))
		var err error
		if op.lease, err = newLease(cfg, o.Namespace, op.name(), deadline, o.Clock); err != nil {
			return nil, fmt.Errorf("set up the leader election: %w", err)
		}
		options.LeaderElectionResourceLockInterface = op.lease
	}
	m, err := manager.New(cfg, options)
	if err != nil {
		return nil, err
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return m, m.AddReadyzCheck("declared", op.isDeclared)
}

// isDeclared is a probe: a process is ready that knows what to do, whether or
// not it is its turn.
func (op *Operator) isDeclared(*http.Request) error {
	if now, _ := op.current(); now == nil {
		return errors.New("what is to be handled is not known yet")
	}
	return nil
}

func addressOrNone(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// whoAmI asks for the own name: admission must let the own writes pass.
func (op *Operator) whoAmI(ctx context.Context) error {
	review := &authenticationv1.SelfSubjectReview{}
	if err := op.client.Create(ctx, review); err != nil {
		return fmt.Errorf("reach the API server %s: %w", op.config.Host, err)
	}
	op.username = review.Status.UserInfo.Username
	return nil
}

// readFence reads the fencing number: how often the Lease has changed hands.
func (op *Operator) readFence(ctx context.Context) error {
	if !op.options.LeaderElection {
		return nil
	}
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: op.options.Namespace, Name: op.name()}
	if err := op.client.Get(ctx, key, lease); err != nil {
		return fmt.Errorf("read the Lease %s: %w", key, err)
	}
	if n := lease.Spec.LeaseTransitions; n != nil {
		op.fence.Store(int64(*n))
	}
	return nil
}

func chance() float64 { return rand.Float64() }
