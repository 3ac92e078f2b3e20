package uninstall

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/rest"
)

// Options of a run.
type Options struct {
	// Config is how to reach the API server. Required.
	Config *rest.Config
	// Namespace is where the service is; empty: it is looked for.
	Namespace string
	// Namespaces are those that the service was confined to, for who has rights
	// in these alone: nothing is looked for elsewhere. Empty: all. They must be
	// all that the service works in, as far as its settings can be read.
	Namespaces []string
	// Release is that of Helm that is removed; empty: whatever is in Namespace.
	// Where another one runs in the same namespace nothing is removed, as both
	// share the Lease, the ledger and the webhook configurations.
	Release string
	// KeepState ends the run once nothing works any more: objects, sets and the
	// ledger stay as they are, for an installation that goes on elsewhere.
	KeepState bool
	// RemoveMarkers takes all annotations of the service off objects as well.
	RemoveMarkers bool
	// AllResources looks through all resources that the API server serves, and
	// not only through those that the ledger and the sets name.
	AllResources bool
	// Incomplete goes on where the rights to look at objects are missing that the
	// service may have left something on. They are left, as is the ledger.
	Incomplete bool
	// DryRun asks the API server what each change would lead to, and changes
	// nothing.
	DryRun bool
	// Report hears what happens; nil: nobody does. It is called by one
	// goroutine at a time.
	Report func(Event)

	// Workers is how many objects are written at the same time. Default: 16.
	Workers int
	// Settle is the least time between the removal of the webhook
	// configurations and the last look at objects: requests under way may
	// still bring a stamp. Default: 10 s.
	Settle time.Duration
}

const (
	defaultWorkers = 16
	defaultSettle  = 10 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	if o.Config == nil {
		return o, errors.New("Config is nil: set it to that of the API server") //nolint:staticcheck // the name of a field
	}
	if name, ok := wrongNamespace(o.Namespaces); !ok {
		return o, fmt.Errorf("Namespaces has %q, which is no name of a namespace", name) //nolint:staticcheck // the name of a field
	}
	o.Namespaces = slices.Compact(slices.Sorted(slices.Values(o.Namespaces)))
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Settle <= 0 {
		o.Settle = defaultSettle
	}
	if o.Report == nil {
		o.Report = func(Event) {}
	}
	return o, nil
}
