package remote

import (
	"net/netip"
	"strings"
	"testing"
)

func TestWhereURLsMayLead(t *testing.T) {
	t.Parallel()
	guard := Guard{
		Denied:  []netip.Prefix{netip.MustParsePrefix("34.1.2.3/32"), netip.MustParsePrefix("10.8.0.1/32")},
		Allowed: []netip.Prefix{netip.MustParsePrefix("10.8.0.0/16")},
	}
	for address, class := range map[string]string{
		"8.8.8.8":              "",
		"93.184.216.34":        "",
		"2606:4700:4700::1111": "",

		"0.0.0.0":         "unspecified",
		"0.1.2.3":         "unspecified",
		"10.0.0.1":        "private",
		"100.64.0.1":      "shared",
		"127.0.0.1":       "loopback",
		"127.255.255.254": "loopback",
		"169.254.1.1":     "metadata",
		"169.254.169.254": "metadata",
		"172.16.0.1":      "private",
		"172.31.255.255":  "private",
		"172.32.0.1":      "",
		"192.0.0.192":     "metadata",
		"192.168.1.1":     "private",
		"198.18.0.1":      "reserved",
		"224.0.0.1":       "multicast",
		"240.0.0.1":       "reserved",
		"255.255.255.255": "reserved",
		"100.100.100.200": "metadata",
		"168.63.129.16":   "metadata",

		"::":                   "unspecified",
		"::1":                  "loopback",
		"fd00:ec2::254":        "metadata",
		"fd20:ce::254":         "metadata",
		"fd12:3456::1":         "private",
		"fc00::1":              "private",
		"fe80::1":              "link-local",
		"fe80::1%eth0":         "link-local",
		"fec0::1":              "private",
		"ff02::1":              "multicast",
		"100::1":               "reserved",
		"2001:db8::1":          "reserved",
		"2001::1":              "reserved", // Teredo
		"4000::1":              "reserved",
		"64:ff9b:1::7f00:1":    "translation",
		"::ffff:127.0.0.1":     "loopback",
		"::ffff:10.0.0.1":      "private",
		"::ffff:8.8.8.8":       "",
		"::127.0.0.1":          "reserved",
		"::8.8.8.8":            "reserved",
		"::ffff:0:127.0.0.1":   "reserved",
		"64:ff9b::8.8.8.8":     "",
		"64:ff9b::7f00:1":      "loopback",
		"64:ff9b::a9fe:a9fe":   "metadata",
		"64:ff9b::10.0.0.1":    "private",
		"2002:7f00:1::1":       "loopback",
		"2002:a9fe:a9fe::":     "metadata",
		"2002:0808:0808::1":    "",
		"2a00::5efe:127.0.0.1": "loopback", // ISATAP
		"2a00::200:5efe:a00:1": "private",

		"34.1.2.3":          "denied",
		"::ffff:34.1.2.3":   "denied",
		"64:ff9b::2201:203": "denied",
		"10.8.0.1":          "denied",
		"10.8.0.2":          "",
		"64:ff9b::10.8.0.2": "",
	} {
		err := guard.CheckURL(netip.MustParseAddr(address))
		switch {
		case class == "" && err != nil:
			t.Errorf("%s: %v: want no error", address, err)
		case class != "" && (err == nil || !strings.Contains(err.Error(), class)):
			t.Errorf("%s: %v: want that it is %s", address, err, class)
		}
	}
}

func TestLoopbackCanBeAllowed(t *testing.T) {
	t.Parallel()
	guard := Guard{AllowLoopback: true}
	for address, allowed := range map[string]bool{"127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "10.0.0.1": false, "::": false, "0.0.0.0": false} {
		if err := guard.CheckURL(netip.MustParseAddr(address)); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestWhereServicesMayLead(t *testing.T) {
	t.Parallel()
	guard := Guard{Denied: []netip.Prefix{netip.MustParsePrefix("10.96.0.1/32")}}
	for address, allowed := range map[string]bool{
		"10.96.0.7": true, "fd00::7": true, "127.50.0.1": true,
		"10.96.0.1": false, "::ffff:10.96.0.1": false, "169.254.169.254": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "fe80::1": false, "fd00:ec2::254": false,
	} {
		if err := guard.CheckService(netip.MustParseAddr(address)); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
}
