package remote

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
)

// DefaultPoll is when an endpoint that is Waiting, and names no delay, is
// called again.
const DefaultPoll = 30 * time.Second

// Endpoint says how a handler is called over HTTP.
type Endpoint struct {
	// Set, SetNamespace and ID name the handler to the endpoint. SetNamespace
	// is empty for a cluster-wide set.
	Set, SetNamespace, ID string
	// Resource is that of the objects.
	Resource schema.GroupVersionResource

	// URL is where requests are posted to: https, without user and fragment.
	// Either it or Service is set.
	URL string
	// Service is where requests are posted to in this cluster.
	Service *Service
	// Plaintext has http instead of https. Signatures still tell that a
	// request is Dogear's, but anyone on the way can read the object.
	Plaintext bool

	// Timeout bounds a whole call, ConnectTimeout the dial and the TLS
	// handshake, each, and HeaderTimeout the time from the end of the request
	// to the header of the answer. Default: 10 s, 3 s, Timeout.
	Timeout, ConnectTimeout, HeaderTimeout time.Duration

	// CAs are the authorities to trust; nil: those of the system.
	CAs CASource
	// ClientCertificate is shown to the endpoint; nil: none.
	ClientCertificate PairSource
	// ServerName is the name that the endpoint's certificate must have.
	// Default: the URL's host, or <name>.<namespace>.svc.
	ServerName string
	// Keys sign the requests; nil: they are not signed.
	Keys KeySource

	// Projection names the fields of the object to send; none: all.
	Projection []string
	// IncludeSecretData sends the values of Secrets.
	IncludeSecretData bool

	// OnError says what a failed call or an answer without a valid body leads
	// to that is no success: what the HTTP status says, Failed, or a success
	// that is only logged. What is wrong on Dogear's side is always temporary.
	OnError handler.ErrorPolicy
	// Poll is when to call again after Waiting without a delay. Default: 30 s.
	Poll time.Duration
	// Callback makes the address for a later outcome; nil: none is offered.
	Callback CallbackSource
	// Gate bounds the calls. Default: one of its own, with default Limits.
	Gate *Gate
}

// WithDefaults fills in what is zero.
func (e Endpoint) WithDefaults() Endpoint {
	if e.Timeout == 0 {
		e.Timeout = v1alpha1.DefaultTimeout
	}
	if e.ConnectTimeout == 0 {
		e.ConnectTimeout = min(v1alpha1.DefaultConnectTimeout, e.Timeout)
	}
	if e.HeaderTimeout == 0 {
		e.HeaderTimeout = e.Timeout
	}
	if e.Poll == 0 {
		e.Poll = DefaultPoll
	}
	if e.Service != nil && e.Service.Port == 0 {
		service := *e.Service
		service.Port = 443
		if e.Plaintext {
			service.Port = 80
		}
		e.Service = &service
	}
	return e
}

// Validate tells what of an Endpoint, defaults filled in, cannot be used.
func (e Endpoint) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if (e.URL == "") == (e.Service == nil) {
		bad("URL, Service: want just one of them")
	} else if _, err := e.target(); err != nil {
		errs = append(errs, err)
	}
	if e.Service != nil && (e.Service.Name == "" || e.Service.Namespace == "" || e.Service.Port < 1 || e.Service.Port > 65535) {
		bad("Service: want a name, a namespace and a port from 1 to 65535")
	}
	if e.Timeout < 0 || e.ConnectTimeout < 0 || e.HeaderTimeout < 0 {
		bad("Timeout, ConnectTimeout, HeaderTimeout: want more than 0")
	}
	if e.Poll < 0 || e.Poll > MaxDelay {
		bad("Poll is %s: want more than 0, at most %s", e.Poll, MaxDelay)
	}
	if _, err := parseProjection(e.Projection); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// target is the URL of requests.
func (e Endpoint) target() (*url.URL, error) {
	text, scheme := e.URL, "https"
	if e.Plaintext {
		scheme = "http"
	}
	if s := e.Service; s != nil {
		host := s.host()
		if s.Port != 443 || e.Plaintext {
			host = net.JoinHostPort(host, strconv.Itoa(int(s.Port)))
		}
		text = scheme + "://" + host + "/" + strings.TrimPrefix(s.Path, "/")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("URL: cannot be parsed") // err quotes it, and a query may be secret
	case u.Scheme != scheme:
		return nil, fmt.Errorf("URL: the scheme is %q: want %q", u.Scheme, scheme)
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("URL: want a host")
	case u.User != nil || u.Fragment != "":
		return nil, errors.New("URL: want no user, password or fragment")
	}
	return u, nil
}
