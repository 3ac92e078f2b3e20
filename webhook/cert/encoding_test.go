package cert

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseReadsWhatDataWrote(t *testing.T) {
	t.Parallel()
	rotating, _ := mustNext(t, first(t), start.Add(365*day*2/3))
	switched, _ := mustNext(t, rotating, start.Add(365*day*2/3+day))
	for name, b := range map[string]*Bundle{"first": first(t), "rotating": rotating, "switched": switched} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := mustData(t, b)
			again := mustParse(t, data)
			for key, want := range data {
				if got := mustData(t, again)[key]; !bytes.Equal(got, want) {
					t.Errorf("%s differs after a round trip", key)
				}
			}
			if (b.Next == nil) != (again.Next == nil) || len(b.Previous) != len(again.Previous) {
				t.Errorf("roles of the authorities differ after a round trip")
			}
		})
	}
}

func TestNextReplacesWhatIsBroken(t *testing.T) {
	t.Parallel()
	now := start.Add(time.Hour)
	other := mustData(t, first(t))
	tests := map[string]struct {
		harm   func(map[string][]byte)
		leaf   bool // is the leaf issued again at once
		parses bool
	}{
		"everything gone":              {func(d map[string][]byte) { clear(d) }, true, false},
		"garbage for a leaf":           {func(d map[string][]byte) { d[KeyCertificate] = []byte("garbage") }, true, false},
		"a leaf of another authority":  {func(d map[string][]byte) { d[KeyCertificate] = other[KeyCertificate] }, true, true},
		"the key of another leaf":      {func(d map[string][]byte) { d[KeyPrivateKey] = other[KeyPrivateKey] }, true, true},
		"authorities of another":       {func(d map[string][]byte) { d[KeyCAs] = other[KeyCAs] }, true, true},
		"a lost key of the authority":  {func(d map[string][]byte) { delete(d, KeyCAKeys) }, false, false},
		"a wrong key of the authority": {func(d map[string][]byte) { d[KeyCAKeys] = other[KeyCAKeys] }, false, true},
		"an authority that can't sign": {func(d map[string][]byte) { d[KeyCAs] = d[KeyCertificate] }, true, true},
		"a huge value": {func(d map[string][]byte) {
			d[KeyCertificate] = bytes.Repeat(d[KeyCertificate], 1+maxPEM/len(d[KeyCertificate]))
		}, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored := first(t)
			data := mustData(t, stored)
			test.harm(data)
			broken, err := Parse(data)
			if test.parses != (err == nil) || (err != nil && !errors.Is(err, ErrData)) {
				t.Fatalf("parse error %v, want one: %t", err, !test.parses)
			}
			next, changed := mustNext(t, broken, now)
			if !changed {
				t.Fatal("nothing changed")
			}
			if again := !next.Leaf.Certificate.Equal(stored.Leaf.Certificate); again != test.leaf {
				t.Errorf("leaf issued again: %t, want %t", again, test.leaf)
			}
			accepted(t, next.Leaf.Certificate, next.CABundle(), now, names...)
		})
	}
}

// A lost key of the authority must not cost trust: the leaf goes on while the
// new authority is published, and is replaced afterwards.
func TestNextReplacesALostAuthorityKeyInSteps(t *testing.T) {
	t.Parallel()
	data := mustData(t, first(t))
	delete(data, KeyCAKeys)
	lost, _ := Parse(data)
	published, _ := mustNext(t, lost, start)
	published = mustParse(t, mustData(t, published))
	if _, changed := mustNext(t, published, start.Add(day-time.Second)); changed {
		t.Error("changed before the overlap was over")
	}
	switched, changed := mustNext(t, published, start.Add(day))
	if !changed {
		t.Fatal("the rotation never ends")
	}
	accepted(t, switched.Leaf.Certificate, published.CABundle(), start.Add(day), names...)
}

func TestParseErrorsKeepSecrets(t *testing.T) {
	t.Parallel()
	secret := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("very secret")})
	_, err := Parse(map[string][]byte{KeyCAs: secret, KeyCAKeys: secret, KeyCertificate: secret, KeyPrivateKey: secret})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

func TestParseReadsKeysOfOtherTools(t *testing.T) {
	t.Parallel()
	_, key, b := sec1(t)
	data := mustData(t, b)
	data[KeyPrivateKey] = key
	if again := mustParse(t, data); !again.Leaf.matches(again.Leaf.Key) {
		t.Error("a SEC 1 key is not read")
	}
}

func TestParseCABundle(t *testing.T) {
	t.Parallel()
	ca := first(t).CABundle()
	_, key, _ := sec1(t)
	tests := map[string]struct {
		text []byte
		want int
	}{
		"one":                 {ca, 1},
		"two":                 {append(bytes.Clone(ca), ca...), 2},
		"with a comment":      {append([]byte("# ours\n"), ca...), 1},
		"empty":               {nil, 0},
		"text":                {[]byte("text"), 0},
		"with a key":          {append(bytes.Clone(ca), key...), 0},
		"with a broken block": {append(bytes.Clone(ca), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"})...), 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseCABundle(test.text)
			if (err == nil) != (test.want > 0) {
				t.Fatalf("error %v", err)
			}
			if err == nil && len(got) != test.want {
				t.Errorf("%d authorities, want %d", len(got), test.want)
			}
		})
	}
}

// sec1 returns a bundle with the PEM of its leaf, the key in SEC 1 form.
func sec1(t *testing.T) (certificate, key []byte, b *Bundle) {
	t.Helper()
	b = first(t)
	pkcs8, _ := pem.Decode(mustData(t, b)[KeyPrivateKey])
	parsed, err := x509.ParsePKCS8PrivateKey(pkcs8.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	der, err := marshalEC(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return mustData(t, b)[KeyCertificate], pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), b
}
