package remote

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

// serveTLS starts a server with that configuration, which counts connections.
func serveTLS(t *testing.T, config *tls.Config) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Proto != "HTTP/1.1" {
			t.Errorf("the protocol is %s: want HTTP/1.1", r.Proto)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	verify := config.VerifyConnection
	config.VerifyConnection = func(s tls.ConnectionState) error {
		connections.Add(1)
		if verify != nil {
			return verify(s)
		}
		return nil
	}
	server.TLS, server.Config.ErrorLog, server.EnableHTTP2 = config, quiet, true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, &connections
}

func TestTheCertificateOfTheEndpointIsChecked(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	old := ours.server(t, "hooks.example.com")
	old.MaxVersion = tls.VersionTLS11
	for name, test := range map[string]struct {
		server *tls.Config
		cas    []byte
		name   string
		text   string
	}{
		"ours":             {ours.server(t, "hooks.example.com"), ours.pem, "hooks.example.com", ""},
		"another's":        {theirs.server(t, "hooks.example.com"), ours.pem, "hooks.example.com", "certificate signed by unknown authority"},
		"of another name":  {ours.server(t, "other.example.com"), ours.pem, "hooks.example.com", "not hooks.example.com"},
		"not of this host": {ours.server(t, "hooks.example.com"), ours.pem, "", "127.0.0.1"},
		"an old protocol":  {old, ours.pem, "hooks.example.com", "protocol version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, _ := serveTLS(t, test.server)
			e := Endpoint{URL: server.URL, CAs: fixed(test.cas), ServerName: test.name, Timeout: patience}
			got := run(t, handlerOf(t, e, loopback()))
			if test.text == "" {
				want(t, got, handler.Succeeded, "", "")
				return
			}
			want(t, got, handler.Waiting, ReasonUnreachable, test.text)
		})
	}
}

// TestCertificatesAreReadAgain: both that of the authority and our own may
// change while calls go on, and connections are kept as long as neither does.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	authorities := []*authority{newAuthority(t), newAuthority(t)}
	var trusted atomic.Int32
	config := authorities[0].server(t, "hooks.example.com")
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, authorities[0].pool()
	var seen atomic.Pointer[string]
	config.VerifyConnection = func(s tls.ConnectionState) error {
		seen.Store(&s.PeerCertificates[0].Subject.CommonName)
		return nil
	}
	server, connections := serveTLS(t, config)
	pairs := []Pair{authorities[0].issue(t, "dogear"), authorities[0].issue(t, "dogear-2"), authorities[1].issue(t, "stranger")}
	var pair atomic.Int32
	h := handlerOf(t, Endpoint{
		URL: server.URL, ServerName: "hooks.example.com", Timeout: patience,
		CAs:               func(context.Context) ([]byte, error) { return authorities[trusted.Load()].pem, nil },
		ClientCertificate: func(context.Context) (Pair, error) { return pairs[pair.Load()], nil },
	}, loopback())

	for i, name := range []string{"dogear", "dogear-2"} {
		pair.Store(int32(i))
		for range 3 {
			want(t, run(t, h), handler.Succeeded, "", "")
		}
		if got := *seen.Load(); got != name {
			t.Errorf("the client is %q: want %q", got, name)
		}
		if n := connections.Load(); n != int32(i)+1 {
			t.Errorf("%d connections: want %d", n, i+1)
		}
	}
	pair.Store(2)
	want(t, run(t, h), handler.Retrying, ReasonUnreachable, "certificate")
	pair.Store(0)
	trusted.Store(1)
	want(t, run(t, h), handler.Waiting, ReasonUnreachable, "unknown authority")
}
