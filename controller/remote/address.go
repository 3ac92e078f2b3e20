package remote

import "net/netip"

// class is a range of addresses that URLs must not lead to, and what it is.
type class struct {
	prefix netip.Prefix
	name   string
}

func classOf(prefix, name string) class { return class{netip.MustParsePrefix(prefix), name} }

// classes are the special ranges of IANA's registries, the first match counts.
// Of IPv6 only 2000::/3 is given out at all; the rest is forbidden as a whole.
var classes = []class{
	classOf("0.0.0.0/8", "unspecified"),
	classOf("10.0.0.0/8", "private"),
	classOf("100.64.0.0/10", "shared (carrier-grade NAT)"),
	classOf("127.0.0.0/8", "loopback"),
	classOf("169.254.0.0/16", "link-local"),
	classOf("172.16.0.0/12", "private"),
	classOf("192.0.0.0/24", "reserved"),
	classOf("192.0.2.0/24", "reserved"),
	classOf("192.88.99.0/24", "reserved"),
	classOf("192.168.0.0/16", "private"),
	classOf("198.18.0.0/15", "reserved"),
	classOf("198.51.100.0/24", "reserved"),
	classOf("203.0.113.0/24", "reserved"),
	classOf("224.0.0.0/4", "multicast"),
	classOf("240.0.0.0/4", "reserved"),

	classOf("::/128", "unspecified"),
	classOf("::1/128", "loopback"),
	classOf("64:ff9b:1::/48", "a local translation of IPv4"),
	classOf("fc00::/7", "private"),
	classOf("fe80::/10", "link-local"),
	classOf("fec0::/10", "private"),
	classOf("ff00::/8", "multicast"),
	classOf("2001::/23", "reserved"),
	classOf("2001:db8::/32", "reserved"),
	classOf("3fff::/20", "reserved"),
}

// metadata are the addresses at which clouds hand out credentials. Most lie in
// the classes, too; Azure's does not.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),         // AWS, GCP, Azure and others
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure's host
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle
	netip.MustParsePrefix("fd00:ec2::254/128"),      // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),       // GCP
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	compatible    = netip.MustParsePrefix("::/96")
	translated    = netip.MustParsePrefix("::ffff:0:0:0/96")
)

// forbidden names the class of an address that URLs must not lead to.
func forbidden(ip netip.Addr) string {
	if within(metadata, ip) {
		return "a cloud's metadata service"
	}
	for _, class := range classes {
		if class.prefix.Contains(ip) {
			return class.name
		}
	}
	if ip.Is6() && !globalUnicast.Contains(ip) && !nat64.Contains(ip) {
		return "reserved"
	}
	return ""
}

// embedded is the IPv4 address that an IPv6 address leads to by mapping or
// translation; an address that has none, without its zone, itself.
func embedded(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip
	}
	b := ip.As16()
	isatap := (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
	switch {
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case ip == netip.IPv6Unspecified() || ip == netip.IPv6Loopback():
		return ip
	case nat64.Contains(ip), compatible.Contains(ip), translated.Contains(ip), isatap:
		return netip.AddrFrom4([4]byte(b[12:16]))
	}
	return ip
}
