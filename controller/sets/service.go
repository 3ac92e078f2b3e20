package sets

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/sets/defaults"
	"github.com/dogear-dev/dogear/storage"
)

// writeReserve is the part of the grace period that calls to endpoints leave to
// the writes of what came of them.
const writeReserve = 5 * time.Second

// Options set up a Service. Settings are needed.
type Options struct {
	// Settings are those of the process, validated.
	Settings config.Settings
	// Config tells how to reach the API server. Default: as controller.Options.
	Config *rest.Config
	// Log takes the log. Default: as controller.Options.
	Log logr.Logger
	// Version is that of the program, for the user agent of requests.
	Version string
	// Clock is the clock; tests have their own.
	Clock clock.WithTickerAndDelayedExecution
}

// Service runs HandlerSets. It is made by New.
type Service struct {
	options  Options
	settings config.Settings
	log      logr.Logger
	clock    clock.WithTickerAndDelayedExecution
	op       *controller.Operator

	// Set by connect.
	cached    client.Reader
	client    client.Client // uncached
	served    *served
	rights    *rights
	schemas   *defaults.Schemas
	endpoints *endpoints
	callbacks *callbacks // nil: outcomes are not taken later

	changed chan struct{}            // has one entry when something is to be looked at
	judged  atomic.Pointer[verdicts] // what was last declared
	synced  chan struct{}            // has one entry when that is another
}

// New makes a Service, or says what of the settings cannot be used.
func New(o Options) (*Service, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	s := &Service{
		options: o, settings: o.Settings, clock: o.Clock,
		changed: make(chan struct{}, 1), synced: make(chan struct{}, 1),
	}
	options := operatorOptions(o)
	if w := options.Webhook; w != nil {
		w.Validation = s.validation()
	}
	var err error
	if s.op, err = controller.New(options); err != nil {
		return nil, err
	}
	s.log = options.WithDefaults().Log
	return s, nil
}

func operatorOptions(o Options) controller.Options {
	s := o.Settings
	scheme := controller.DefaultScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		panic(err) // it is complete in itself
	}
	options := controller.Options{
		Domain: storage.ServiceDomain, Config: o.Config, Scheme: scheme, Namespace: s.Namespace, Namespaces: s.Namespaces, Log: o.Log,
		Workers: s.Workers, Budget: s.Budget, IgnoreAnnotations: s.IgnoreAnnotations,
		LeaderElection: s.LeaderElect, LeaseDuration: s.LeaseDuration, RenewDeadline: s.RenewDeadline, RetryPeriod: s.RetryPeriod,
		GracePeriod: s.GracePeriod, DrainPeriod: max(0, s.GracePeriod-writeReserve), MetricsAddress: s.MetricsAddress, HealthAddress: s.HealthAddress,
		Declared: true, Clock: o.Clock,
	}
	if s.Has(config.RoleController) {
		options.Roles |= controller.RoleController
	}
	if s.Has(config.RoleWebhook) && s.Webhook.Enabled() {
		options.Roles |= controller.RoleWebhook
	}
	if w := s.Webhook; w.Enabled() {
		options.Webhook = &controller.Webhook{
			Address: w.Address, Service: w.Service, ServicePort: int32(w.ServicePort), URL: w.URL,
			CertificateDir: w.CertificateDir, Secret: w.Secret, ControllerUsers: w.ControllerUsers,
			InjectCAFrom: w.InjectCAFrom, Fail: w.Fail, Timeout: w.Timeout, LameDuck: w.LameDuck,
		}
	}
	return options
}

// Start runs the service until ctx ends, as controller.Operator.Start does.
func (s *Service) Start(ctx context.Context) error {
	m, err := s.op.Manager(ctx)
	if err != nil {
		return err
	}
	if err := s.connect(ctx, m); err != nil {
		return err
	}
	if err := m.Add(everywhere(s.sync)); err != nil {
		return fmt.Errorf("add the watch of sets: %w", err)
	}
	if s.controls() {
		if err := m.Add(manager.RunnableFunc(s.report)); err != nil {
			return fmt.Errorf("add the status of sets: %w", err)
		}
		if s.callbacks != nil {
			if err := m.Add(everywhere(s.callbacks.serve)); err != nil {
				return fmt.Errorf("add the callbacks: %w", err)
			}
		}
	}
	return s.op.Start(ctx)
}

// controls tells whether this process handles objects, in its turn.
func (s *Service) controls() bool { return s.settings.Has(config.RoleController) }

// confined tells that the service works in some namespaces alone: what is in
// none, as ClusterHandlerSets and the namespaces themselves, is not for it.
func (s *Service) confined() bool { return len(s.settings.Namespaces) > 0 }

// mayName tells whether sets can name what is in a namespace.
func (s *Service) mayName(namespace string) bool {
	return !s.confined() || slices.Contains(s.settings.Namespaces, namespace)
}

// everywhere runs also where the process doesn't lead.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (f everywhere) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (f everywhere) NeedLeaderElection() bool { return false }

// connect makes the clients and watches sets and namespaces.
func (s *Service) connect(ctx context.Context, m manager.Manager) error {
	s.cached = m.GetCache()
	var err error
	if s.client, err = client.New(m.GetConfig(), client.Options{HTTPClient: m.GetHTTPClient(), Scheme: m.GetScheme(), Mapper: m.GetRESTMapper()}); err != nil {
		return fmt.Errorf("set up the client: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("set up discovery: %w", err)
	}
	s.served = &served{discovery: d, clock: s.clock, changed: s.lookAgain}
	s.schemas = defaults.NewSchemas(openapi.NewClientWithContext(d.RESTClient()), s.clock)
	s.rights = &rights{client: s.client, clock: s.clock, keeps: s.op.KeepsStatus}
	if s.callbacks, err = s.newCallbacks(); err != nil {
		return err
	}
	if s.endpoints, err = s.newEndpoints(ctx, m.GetConfig()); err != nil {
		return err
	}
	if err := s.listen(ctx, m, &v1alpha1.HandlerSet{}, s.lookAgain); err != nil || s.confined() {
		return err
	}
	if err := s.listen(ctx, m, &v1alpha1.ClusterHandlerSet{}, s.lookAgain); err != nil {
		return err
	}
	return s.listenToNamespaces(ctx, m)
}

func (s *Service) listen(ctx context.Context, m manager.Manager, object client.Object, f func()) error {
	informer, err := m.GetCache().GetInformer(ctx, object)
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f() },
		UpdateFunc: func(_, _ any) { f() },
		DeleteFunc: func(any) { f() },
	})
	return err
}

// lookAgain has the sets looked at once more, soon.
func (s *Service) lookAgain() { poke(s.changed) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

const (
	// syncPause has changes that come together looked at together.
	syncPause = 50 * time.Millisecond
	// syncPeriod is how often it is looked whether a resource is served, and a
	// right was given, that was not before.
	syncPeriod = 5 * time.Second
)

// sync declares what the sets say, until ctx ends.
func (s *Service) sync(ctx context.Context) error {
	for {
		s.declare(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-s.changed:
		case <-s.clock.After(syncPeriod):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.clock.After(syncPause):
		}
	}
}
