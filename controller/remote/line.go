package remote

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// idleTimeout is how long an unused connection is kept.
const idleTimeout = 30 * time.Second

// maxHeader bounds the header of an answer.
const maxHeader = 64 << 10

// line holds the connections to an endpoint. It begins anew when the address of
// the Service or a certificate changes: an old connection would still lead to
// the old place, and prove the old name.
type line struct {
	endpoint Endpoint
	guard    Guard
	resolver *Resolver
	dns      *net.Resolver
	idle     int // connections to keep

	mu        sync.Mutex
	address   netip.AddrPort
	material  material
	transport *http.Transport // nil: none yet
}

// get returns the transport for what the endpoint is now.
func (l *line) get(ctx context.Context) (*http.Transport, error) {
	var address netip.AddrPort
	if service := l.endpoint.Service; service != nil {
		if l.resolver == nil {
			return nil, fmt.Errorf("Service %s/%s cannot be resolved here", service.Namespace, service.Name)
		}
		var err error
		if address, err = l.resolver.Resolve(ctx, *service); err != nil {
			return nil, err
		}
	}
	m, err := l.endpoint.material(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.transport != nil && l.address == address && l.material.equal(m) {
		return l.transport, nil
	}
	t, err := l.build(address, m)
	if err != nil {
		return nil, err
	}
	if l.transport != nil {
		l.transport.CloseIdleConnections()
	}
	l.address, l.material, l.transport = address, m, t
	return t, nil
}

// build makes a transport. HTTP/1.1 alone is spoken: over HTTP/2 all calls
// would share one connection, and so one of a Service's pods. No proxy is taken
// from the environment: it would dial for us, unguarded.
func (l *line) build(address netip.AddrPort, m material) (*http.Transport, error) {
	e := l.endpoint
	name := e.ServerName
	dial := l.guard.urlDialer(e.ConnectTimeout, l.dns)
	if e.Service != nil {
		dial = l.guard.serviceDialer(e.ConnectTimeout, address)
		if name == "" {
			name = e.Service.host()
		}
	}
	config, err := m.config(name)
	if err != nil {
		return nil, err
	}
	header := e.HeaderTimeout
	if header >= e.Timeout {
		header = 0 // that of the whole call comes first
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    e.ConnectTimeout,
		ResponseHeaderTimeout:  header,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    l.idle,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // or 1 MiB could become 1 GiB here
		Protocols:              protocols,
	}, nil
}

func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.transport != nil {
		l.transport.CloseIdleConnections()
	}
}
