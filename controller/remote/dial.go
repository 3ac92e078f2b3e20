package remote

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// dialFunc is that of http.Transport.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// urlDialer dials where a URL leads to. The check runs on each address that is
// tried, between its resolution and its connection: there is no time at which
// a name could change its address unseen.
func (g Guard) urlDialer(connect time.Duration, resolver *net.Resolver) dialFunc {
	return guarded(g.CheckURL, connect, resolver).DialContext
}

// serviceDialer dials the address of a Service, whatever name stands in the URL.
func (g Guard) serviceDialer(connect time.Duration, to netip.AddrPort) dialFunc {
	dialer := guarded(g.CheckService, connect, nil)
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, to.String())
	}
}

func guarded(check func(netip.Addr) error, connect time.Duration, resolver *net.Resolver) *net.Dialer {
	return &net.Dialer{
		Timeout:  connect,
		Resolver: resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			if network != "tcp4" && network != "tcp6" {
				return fmt.Errorf("network %q is not TCP", network)
			}
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("address %q is no IP and port", address)
			}
			if to.Port() == 0 {
				return fmt.Errorf("address %q has no port", address)
			}
			return check(to.Addr())
		},
	}
}
