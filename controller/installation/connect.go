package installation

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// requestTimeout bounds one request: a server behind the API server may hang.
const requestTimeout = time.Minute

// Connection is all that commands ask an API server with, over one pool of
// connections.
type Connection struct {
	// Client knows the kinds of the scheme, and has no cache.
	Client    client.Client
	Metadata  metadata.Interface
	Discovery *discovery.DiscoveryClient
}

// Connect makes a connection; the API server is not asked for anything yet. A
// request may take a minute, unless config says otherwise, and warnings are not
// printed.
func Connect(config *rest.Config, scheme *runtime.Scheme) (*Connection, error) {
	config = rest.CopyConfig(config)
	if config.Timeout == 0 {
		config.Timeout = requestTimeout
	}
	config.WarningHandlerWithContext = rest.NoWarnings{}
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection: %w", err)
	}
	c := &Connection{}
	if c.Client, err = client.New(config, client.Options{HTTPClient: http, Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(config, http); err != nil {
		return nil, fmt.Errorf("set up the client of metadata: %w", err)
	}
	if c.Discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, http); err != nil {
		return nil, fmt.Errorf("set up discovery: %w", err)
	}
	return c, nil
}
