package cert

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ErrNames is wrapped by every error about names that no certificate can have.
var ErrNames = errors.New("certificate names")

// ServiceNames returns the DNS names of a Service inside the cluster; the API
// server calls a webhook by the first one.
func ServiceNames(namespace, name string) []string {
	host := name + "." + namespace + ".svc"
	return []string{host, host + ".cluster.local"}
}

// nameSet is what a serving certificate is valid for, sorted, without repeats.
type nameSet struct {
	dns []string
	ips []netip.Addr
}

// parseNames sorts DNS names and IP addresses apart.
func parseNames(names []string) (nameSet, error) {
	var set nameSet
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil {
			set.ips = append(set.ips, ip.Unmap())
			continue
		}
		name = strings.ToLower(name)
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nameSet{}, fmt.Errorf("%w: %q is neither a DNS name nor an IP address", ErrNames, name)
		}
		set.dns = append(set.dns, name)
	}
	if len(set.dns)+len(set.ips) == 0 {
		return nameSet{}, fmt.Errorf("%w: none given, name the host that the API server calls", ErrNames)
	}
	return set.sorted(), nil
}

func namesOf(c *x509.Certificate) nameSet {
	set := nameSet{dns: slices.Clone(c.DNSNames)}
	for _, ip := range c.IPAddresses {
		if addr, ok := netip.AddrFromSlice(ip); ok {
			set.ips = append(set.ips, addr.Unmap())
		}
	}
	return set.sorted()
}

func (s nameSet) sorted() nameSet {
	slices.Sort(s.dns)
	slices.SortFunc(s.ips, netip.Addr.Compare)
	return nameSet{dns: slices.Compact(s.dns), ips: slices.Compact(s.ips)}
}

func (s nameSet) equal(other nameSet) bool {
	return slices.Equal(s.dns, other.dns) && slices.Equal(s.ips, other.ips)
}

func (s nameSet) addresses() []net.IP {
	var all []net.IP
	for _, ip := range s.ips {
		all = append(all, ip.AsSlice())
	}
	return all
}
