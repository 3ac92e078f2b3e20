package demo

import (
	"io"
	"time"
)

// DefaultTimeout is the default of Options.Timeout.
const DefaultTimeout = 2 * time.Minute

// Options say what Run does. Stdout and Stderr are required.
type Options struct {
	// Dir takes data, kubeconfigs and logs, and stays. It must be empty or
	// missing. Default: a temporary folder, removed if all went well.
	Dir string
	// Keep leaves all running at the end until the context ends.
	Keep bool
	// Bare starts nothing but a control plane with the CRDs of cert-manager, and
	// leaves it running until the context ends.
	Bare bool
	// Timeout bounds everything up to the summary. Default: 2 min.
	Timeout time.Duration
	// JSON puts one document with everything on Stdout at the end, and progress
	// on Stderr.
	JSON bool
	// Size returns the terminal's columns and lines, and makes progress a table
	// that is painted over and over. Default: a line per change.
	Size func() (columns, lines int)
	// Color adds colours and icons.
	Color bool
	// Stdout and Stderr take the output.
	Stdout, Stderr io.Writer

	// Expected is how the objects have to end. Default: DefaultExpected.
	Expected []Expected
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Expected == nil {
		o.Expected = DefaultExpected()
	}
	return o
}

// Namespaces of the demo.
const (
	objectsNamespace = "demo"   // the user's objects
	systemNamespace  = "dogear" // Dogear's own
	hooksNamespace   = "hooks"  // the endpoints
)
