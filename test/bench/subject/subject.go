package subject

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/dogear-dev/dogear/storage"
)

// Names of the subjects: the first argument of the benchmark's binary.
const (
	Dogear = "dogear" // an operator of the SDK
	Bare   = "bare"
	Noop   = "noop"
	HTTP   = "http" // the service, with handlers over HTTP
	// Endpoint is what the service calls. It is not measured.
	Endpoint = "endpoint"
)

// Annotations that show that an object is handled.
const (
	Domain        = "bench.example.com"
	DogearState   = "dogear." + Domain + "/state"
	DogearHandled = "dogear." + Domain + "/handled"
	BareHandled   = "bare." + Domain + "/handled"
	HTTPState     = string(storage.ServicePrefix) + "/state"
	HTTPProgress  = string(storage.ServicePrefix) + "/progress"
	HTTPHandled   = string(storage.ServicePrefix) + "/handled"
	// CertificateSecret is the Secret with the certificate of the no-op webhook.
	CertificateSecret = "noop-webhook"
)

// The handler of the service that is measured.
const (
	ServiceSet     = "bench"
	ServiceHandler = ServiceSet + "/myapp"
)

// Label tells whose an object is: the subjects run at the same time.
const Label = "bench.example.com/for"

// Is tells whether the arguments of the binary ask for a subject.
func Is(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return slices.Contains([]string{Dogear, Bare, Noop, HTTP, Endpoint}, args[0])
}

// settings are the flags of all subjects.
type settings struct {
	config    *rest.Config
	log       logr.Logger
	selected  string
	namespace string
	address   string // of the webhook, or the endpoint; empty: none
	workers   int
	attempts  int
	delay     time.Duration
	finalizer bool
	admission bool

	// Of the endpoint.
	dead        string // where nothing is ever answered
	certificate string
}

// labels selects the subject's objects.
func (s *settings) labels() string { return Label + "=" + s.selected }

// Run runs the subject that args name until in ends. Its log goes to log.
func Run(args []string, in io.Reader, out, log io.Writer) error {
	s := settings{log: zap.New(zap.WriteTo(log))}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server")
	flags.StringVar(&s.selected, "selected", "", "value of the label of the objects to look at")
	flags.StringVar(&s.namespace, "namespace", "", "for the subject's own objects")
	flags.StringVar(&s.address, "address", "", "where to serve admission, or the endpoint")
	flags.IntVar(&s.workers, "workers", 16, "objects handled at the same time")
	flags.IntVar(&s.attempts, "attempts", 1, "attempts until the handler succeeds")
	flags.DurationVar(&s.delay, "delay", 100*time.Millisecond, "time between attempts")
	flags.BoolVar(&s.finalizer, "finalizer", false, "handle deletion too")
	flags.BoolVar(&s.admission, "admission-only", false, "serve admission, handle nothing")
	flags.StringVar(&s.dead, "dead", "", "where an endpoint serves that never answers")
	flags.StringVar(&s.certificate, "certificate", "", "files with the certificate and key of endpoints, without .crt and .key")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	ctrl.SetLogger(s.log)
	var err error
	if s.config, err = clientcmd.BuildConfigFromFlags("", *kubeconfig); err != nil {
		return err
	}
	s.config.QPS = -1 // no limit, for all of them
	var p program
	switch args[0] {
	case Dogear:
		p, err = dogear(s)
	case Bare:
		p, err = bare(s)
	case Noop:
		p, err = noop(s)
	case HTTP:
		p, err = service(s)
	case Endpoint:
		p, err = endpoint(s)
	}
	if err != nil {
		return fmt.Errorf("set up subject %q: %w", args[0], err)
	}
	return serve(in, out, p)
}
