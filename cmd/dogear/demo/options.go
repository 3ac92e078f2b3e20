package demo

import (
	"io"
	"time"

	"github.com/dogear-dev/dogear/test/rig"
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

	// Name makes the names of namespaces and of the operator's domain.
	// Default: "demo".
	Name string
	// Expected is how the objects have to end. Default: DefaultExpected.
	Expected []Expected
	// ControlPlane is used instead of a new one, and left running.
	ControlPlane *rig.ControlPlane
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Name == "" {
		o.Name = "demo"
	}
	if o.Expected == nil {
		o.Expected = DefaultExpected()
	}
	return o
}

// objects is the namespace of the user's objects, system that of the operator,
// domain the operator's.
func (o Options) objects() string { return o.Name }
func (o Options) system() string  { return "dogear-" + o.Name }
func (o Options) domain() string  { return o.Name + ".example.com" }
