package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/dogear-dev/dogear/webhook/cert"
)

var (
	_ manager.Runnable               = &Server{}
	_ manager.LeaderElectionRunnable = &Server{}
	_ CertificateSource              = &cert.Source{}
)

func TestServerSpeaksOneProtocol(t *testing.T) {
	t.Parallel()
	s := start(t, ServerOptions{LameDuck: -1})
	response := s.admit(t)
	if response.StatusCode != http.StatusOK || response.Proto != "HTTP/1.1" || response.TLS.Version != tls.VersionTLS13 {
		t.Errorf("%s over %s and TLS %x", response.Status, response.Proto, response.TLS.Version)
	}
	old := &tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // what the server must refuse
	if connection, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), old); err == nil {
		_ = connection.Close()
		t.Error("TLS 1.2 is accepted")
	}
}

func TestServerFinishesWhatRunsWhenItStops(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	s := start(t, ServerOptions{LameDuck: -1, Admitter: AdmitterFunc(
		func(ctx context.Context, r *admissionv1.AdmissionRequest) Answer {
			close(entered)
			<-leave
			return allowAll(ctx, r)
		})})
	answered := make(chan *http.Response, 1)
	go func() { answered <- s.admit(t) }()
	<-entered
	s.stop()
	waitFor(t, "the server to refuse", s.refusing.Load)
	select {
	case err := <-s.ended:
		t.Fatalf("the server ended with a request under way: %v", err)
	default:
	}
	close(leave)
	if response := <-answered; response.StatusCode != http.StatusOK {
		t.Errorf("the request under way got %s", response.Status)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

func TestServerCutsOffWhatOutlastsTheDrain(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	defer close(leave)
	s := start(t, ServerOptions{LameDuck: -1, Drain: time.Millisecond, Admitter: AdmitterFunc(
		func(ctx context.Context, r *admissionv1.AdmissionRequest) Answer {
			close(entered)
			<-leave
			return allowAll(ctx, r)
		})})
	go func() {
		if response, err := s.client.Post(s.url+"/admit", "application/json", strings.NewReader(reviewOf(t, admissionv1.Create, 10))); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-entered
	s.stop()
	if err := <-s.ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
}

// While clients move to other replicas they are served, each for the last time
// on its connection; then they are told to try again.
func TestServerStopsInTwoSteps(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{})
	h := s.Handler()
	tests := []struct {
		what                 string
		stopping, refusing   bool
		admit, ready         int
		connection, tryAgain string
	}{
		{"serving", false, false, http.StatusOK, http.StatusOK, "", ""},
		{"lame duck", true, false, http.StatusOK, http.StatusServiceUnavailable, "close", ""},
		{"draining", true, true, http.StatusTooManyRequests, http.StatusServiceUnavailable, "close", "1"},
	}
	for _, test := range tests {
		s.stopping.Store(test.stopping)
		s.refusing.Store(test.refusing)
		admit := post(h, "/admit", strings.NewReader(reviewOf(t, admissionv1.Create, 1)))
		ready, health := get(h, "/readyz"), get(h, "/healthz")
		if admit.Code != test.admit || ready.Code != test.ready || health.Code != http.StatusOK {
			t.Errorf("%s: admit %d, ready %d, health %d", test.what, admit.Code, ready.Code, health.Code)
		}
		if got := admit.Header().Get("Connection"); got != test.connection {
			t.Errorf("%s: connection %q, want %q", test.what, got, test.connection)
		}
		if got := admit.Header().Get("Retry-After"); got != test.tryAgain {
			t.Errorf("%s: retry after %q, want %q", test.what, got, test.tryAgain)
		}
	}
}

func TestServerReportsThatItCannotListen(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // the test is over
	s := newServer(t, ServerOptions{Addr: taken.Addr().String()})
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("error %v, want one that names the address", err)
	}
	closed := newServer(t, ServerOptions{Listener: taken})
	_ = taken.Close()
	if err := closed.Start(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v, want %v", err, net.ErrClosed)
	}
}

func TestReadyzNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	notSynced := errors.New("caches are not synced")
	tests := map[string]struct {
		source CertificateSource
		checks map[string]healthz.Checker
		want   string
	}{
		"nothing":        {nil, map[string]healthz.Checker{"cache": healthz.Ping}, "ok\n"},
		"no certificate": {cert.FromFiles("", ""), nil, "certificate: no serving certificate is loaded yet\n"},
		"a check": {nil, map[string]healthz.Checker{
			"b": func(*http.Request) error { return notSynced }, "a": func(*http.Request) error { return io.EOF },
		}, "a: EOF\nb: caches are not synced\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := ServerOptions{Checks: test.checks}
			if test.source != nil {
				options.Source = test.source
			}
			s := newServer(t, options)
			want := http.StatusOK
			if test.want != "ok\n" {
				want = http.StatusServiceUnavailable
			}
			w := get(s.Handler(), "/readyz")
			if w.Code != want || w.Body.String() != test.want {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, want, test.want)
			}
			if err := s.Ready(nil); (err == nil) != (want == http.StatusOK) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestServerOptions(t *testing.T) {
	t.Parallel()
	source, _ := serving(t)
	good := ServerOptions{Source: source, Admitter: allowAll}
	tests := map[string]struct {
		change func(*ServerOptions)
		want   string
	}{
		"defaults":         {func(*ServerOptions) {}, ""},
		"a large body":     {func(o *ServerOptions) { o.MaxBody = 1 << 30 }, ""},
		"no source":        {func(o *ServerOptions) { o.Source = nil }, "Source"},
		"no admitter":      {func(o *ServerOptions) { o.Admitter = nil }, "Admitter"},
		"negative body":    {func(o *ServerOptions) { o.MaxBody = -1 }, "MaxBody"},
		"too little room":  {func(o *ServerOptions) { o.MaxInFlight = 32 << 20 }, "MaxInFlight"},
		"no concurrency":   {func(o *ServerOptions) { o.MaxConcurrent = -1 }, "MaxConcurrent"},
		"a negative drain": {func(o *ServerOptions) { o.Drain = -1 }, "Drain"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := good
			test.change(&options)
			_, err := NewServer(options)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %s", err, test.want)
			}
		})
	}
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// waitFor polls a condition that another goroutine brings about.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("waited 10s for %s", what)
		case <-tick.C:
		}
	}
}
