package remote

import (
	"fmt"
	"net/netip"
)

// Guard decides which addresses a URL may lead to. It is asked at every dial,
// about the address that is dialled: a name that changes its address, or that
// has several, gets no further than one that never did.
type Guard struct {
	// Denied are never dialled, also not for a Service: put the API server's
	// addresses here. They go before Allowed.
	Denied []netip.Prefix
	// Allowed may be dialled although they are private or the like.
	Allowed []netip.Prefix
	// AllowLoopback lets URLs lead to this host. For tests and demos.
	AllowLoopback bool
}

// CheckURL tells why an address that a URL led to must not be dialled.
func (g Guard) CheckURL(address netip.Addr) error {
	real := embedded(address)
	if err := g.checkDenied(address, real); err != nil {
		return err
	}
	if within(g.Allowed, real) || (g.AllowLoopback && real.IsLoopback()) {
		return nil
	}
	for _, ip := range []netip.Addr{address.Unmap().WithZone(""), real} {
		if class := forbidden(ip); class != "" {
			return fmt.Errorf("address %s is %s: URLs must not lead there; name a Service instead", address, class)
		}
	}
	return nil
}

// CheckService tells why the address of a Service must not be dialled. It was
// given by the API server, so it is private as a rule.
func (g Guard) CheckService(address netip.Addr) error {
	real := embedded(address)
	if err := g.checkDenied(address, real); err != nil {
		return err
	}
	if real.IsUnspecified() || real.IsMulticast() || real.IsLinkLocalUnicast() || within(metadata, real) {
		return fmt.Errorf("address %s can be no Service's", address)
	}
	return nil
}

func (g Guard) checkDenied(address, real netip.Addr) error {
	if within(g.Denied, real) || within(g.Denied, address.Unmap().WithZone("")) {
		return fmt.Errorf("address %s is denied, such as that of the API server", address)
	}
	return nil
}

func within(prefixes []netip.Prefix, ip netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}
