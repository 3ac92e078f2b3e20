package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/dogear-dev/dogear/webhook/cert"
)

// allowAll admits everything unchanged.
var allowAll = AdmitterFunc(func(context.Context, *admissionv1.AdmissionRequest) Answer {
	return Answer{Response: &admissionv1.AdmissionResponse{Allowed: true}, Decision: "allowed"}
})

// serving returns a source with a fresh certificate for 127.0.0.1 and the pool
// that trusts it.
func serving(t testing.TB) (*cert.Source, *x509.CertPool) {
	t.Helper()
	bundle, _, err := cert.Next(nil, []string{"127.0.0.1"}, time.Now(), cert.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := bundle.Data()
	if err != nil {
		t.Fatal(err)
	}
	source, err := cert.Static(data[cert.KeyCertificate], data[cert.KeyPrivateKey])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle.CABundle())
	return source, roots
}

// newServer makes a server, by default one that allows everything.
func newServer(t testing.TB, options ServerOptions) *Server {
	t.Helper()
	if options.Source == nil {
		options.Source, _ = serving(t)
	}
	if options.Admitter == nil {
		options.Admitter = allowAll
	}
	s, err := NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends a body to the handler, without a network.
func post(h http.Handler, path string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// reviewOf returns the body of a request with an object of about size bytes.
func reviewOf(t testing.TB, operation admissionv1.Operation, size int) string {
	t.Helper()
	object := fmt.Sprintf(`{"metadata":{"name":"a"},"data":%q}`, strings.Repeat("x", size))
	old := ""
	if operation == admissionv1.Update {
		old = `,"oldObject":` + object
	}
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","operation":%q,"object":%s%s}}`,
		operation, object, old)
}

func responseOf(t testing.TB, body []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	review := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, &review); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	if review.TypeMeta != reviewType || review.Response == nil || review.Request != nil {
		t.Fatalf("answer %q is not an AdmissionReview with a response", body)
	}
	return review.Response
}

// started is a server on a port of its own.
type started struct {
	*Server
	url    string
	client *http.Client
	stop   context.CancelFunc
	ended  chan error
}

func start(t *testing.T, options ServerOptions) *started {
	t.Helper()
	source, roots := serving(t)
	options.Source = source
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options.Listener = listener
	ctx, cancel := context.WithCancel(t.Context())
	s := &started{
		Server: newServer(t, options), url: "https://" + listener.Addr().String(), stop: cancel, ended: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
		}},
	}
	go func() { s.ended <- s.Start(ctx) }()
	t.Cleanup(cancel)
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

func (s *started) admit(t *testing.T) *http.Response {
	t.Helper()
	response, err := s.client.Post(s.url+"/admit", "application/json", strings.NewReader(reviewOf(t, admissionv1.Create, 10)))
	if err != nil {
		t.Error(err)
		return &http.Response{}
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response
}
