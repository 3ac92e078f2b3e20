package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/published"
	"github.com/dogear-dev/dogear/storage"
)

// Options say what to check. Config is needed.
type Options struct {
	// Config tells how to reach the API server, as whom.
	Config *rest.Config
	// Namespace is where Dogear is. Default: it is looked for everywhere.
	Namespace string
	// Domain is that of an operator made with the SDK, to be checked instead of
	// the service: as far as that can be told from outside.
	Domain string
	// Objects are created in dry runs for the resources that they are of.
	Objects []*unstructured.Unstructured
	// TolerateSets makes warnings of faults of sets and of the objects that they
	// select: then the report is about the installation.
	TolerateSets bool
	// Version is that of this program.
	Version string
	// Clock tells the time. Default: the real one.
	Clock clock.Clock
}

// requestTimeout bounds a request to the API server.
const requestTimeout = 15 * time.Second

// Checker makes rounds of checks.
type Checker struct {
	options   Options
	prefix    storage.Prefix
	client    client.Client
	discovery *discovery.DiscoveryClient
	schemas   *published.Reader[*published.Document]
}

// New makes a Checker; the API server is not asked for anything yet.
func New(o Options) (*Checker, error) {
	if o.Config == nil {
		return nil, errors.New("options: Config is nil: it tells how to reach the API server")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	c := &Checker{prefix: storage.ServicePrefix}
	if o.Domain != "" {
		var err error
		if c.prefix, err = storage.PrefixFor(o.Domain); err != nil {
			return nil, err
		}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("set up the types: %w", err)
		}
	}
	o.Config = rest.CopyConfig(o.Config)
	o.Config.Timeout = requestTimeout
	o.Config.WarningHandlerWithContext = rest.NoWarnings{}
	c.options = o
	httpClient, err := rest.HTTPClientFor(o.Config)
	if err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	if c.client, err = client.New(o.Config, client.Options{HTTPClient: httpClient, Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(o.Config, httpClient); err != nil {
		return nil, fmt.Errorf("set up discovery: %w", err)
	}
	c.schemas = c.newSchemas()
	return c, nil
}

// Run makes all checks once.
func (c *Checker) Run(ctx context.Context) *Report {
	r := &round{Checker: c}
	checks := r.checks()
	if c.options.TolerateSets {
		checks = tolerant(checks)
	}
	return run(ctx, c.options.Version, checks)
}

// Wait makes all checks again and again until none fails or ctx ends. tell is
// called with what fails, whenever that has changed.
func (c *Checker) Wait(ctx context.Context, tell func(failures []string)) *Report {
	return wait(ctx, c.options.Clock, c.Run, tell)
}
