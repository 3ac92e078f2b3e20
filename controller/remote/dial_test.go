package remote

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/dogear-dev/dogear/controller/handler"
)

// names is a DNS server that gives each question for an A record the next of
// some addresses, and the last one for ever.
type names struct {
	mu      sync.Mutex
	next    [][4]byte
	answers int
}

func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buffer := make([]byte, 1<<12)
		for {
			size, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer := n.answer(buffer[:size]); answer != nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func (n *names) answered() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.answers
}

func (n *names) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.answers++
		address := n.next[0]
		if len(n.next) > 1 {
			n.next = n.next[1:]
		}
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: address},
		}}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// TestANameThatChangesItsAddressGetsNoFurther is DNS rebinding: the name was
// fine when it was looked at first, and leads to this host when it is called.
func TestANameThatChangesItsAddressGetsNoFurther(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Connection", "close") // so that each call dials
		w.WriteHeader(http.StatusNoContent)
	})
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	dns := &names{next: [][4]byte{{127, 0, 0, 1}, {127, 0, 0, 2}}}
	shared := Shared{DNS: dns.resolver(t), Guard: Guard{Allowed: prefixes("127.0.0.1/32")}}
	e := to(server)
	e.URL = "https://rebind.example.com:" + port + "/"
	h := handlerOf(t, e, shared)

	want(t, run(t, h), handler.Succeeded, "", "")
	want(t, run(t, h), handler.Waiting, ReasonUnreachable, "address 127.0.0.2 is loopback: URLs must not lead there")
	if n := calls.Load(); n != 1 {
		t.Errorf("the server was called %d times: want 1", n)
	}
	if n := dns.answered(); n != 2 {
		t.Errorf("the name was resolved %d times: want once a dial", n)
	}
}

func TestAURLMustNotLeadInside(t *testing.T) {
	t.Parallel()
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was called") })
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	inside := func(a, b, c, d byte) Shared { return Shared{DNS: (&names{next: [][4]byte{{a, b, c, d}}}).resolver(t)} }
	for host, test := range map[string]struct {
		shared Shared
		text   string
	}{
		"127.0.0.1":                  {Shared{}, "loopback"},
		"localhost":                  {Shared{}, "loopback"},
		"[::1]":                      {Shared{}, "loopback"},
		"[::ffff:127.0.0.1]":         {Shared{}, "loopback"},
		"[::ffff:7f00:1]":            {Shared{}, "loopback"},
		"[64:ff9b::7f00:1]":          {Shared{}, "loopback"},
		"[2002:7f00:1::]":            {Shared{}, "loopback"},
		"0.0.0.0":                    {Shared{}, "unspecified"},
		"[::]":                       {Shared{}, "unspecified"},
		"169.254.169.254":            {Shared{}, "metadata"},
		"metadata.google.internal":   {inside(169, 254, 169, 254), "metadata"},
		"kubernetes.default.svc":     {inside(10, 96, 0, 1), "private"},
		"loopback.example.com":       {inside(127, 0, 0, 1), "loopback"},
		"carrier-grade.example.com":  {inside(100, 64, 0, 1), "shared"},
		"ten-dot-nothing.example.io": {inside(10, 0, 0, 1), "private"},
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			e := to(server)
			e.URL = "https://" + host + ":" + port
			got := run(t, handlerOf(t, e, test.shared))
			if got.Kind == handler.Retrying && strings.Contains(got.Message, "network is unreachable") {
				t.Skip("there is no IPv6 here")
			}
			want(t, got, handler.Waiting, ReasonUnreachable, test.text)
		})
	}
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	proxy := raw(t, func(net.Conn) { t.Error("the proxy was dialled") })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://"+proxy)
	}
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	e := to(server)
	e.URL = "https://proxied.example.com:" + port
	shared := Shared{DNS: (&names{next: [][4]byte{{127, 0, 0, 1}}}).resolver(t), Guard: Guard{AllowLoopback: true}}
	want(t, run(t, handlerOf(t, e, shared)), handler.Succeeded, "", "")
}
