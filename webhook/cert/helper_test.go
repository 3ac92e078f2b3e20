package cert

import (
	"crypto/ecdsa"
	"crypto/x509"
	"testing"
	"time"
)

var (
	start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	names = ServiceNames("dogear", "webhook")
)

// mustNext applies Next with the default policy.
func mustNext(t testing.TB, b *Bundle, now time.Time) (*Bundle, bool) {
	t.Helper()
	next, changed, err := Next(b, names, now, Policy{})
	if err != nil {
		t.Fatalf("Next at %s: %v", now, err)
	}
	return next, changed
}

func first(t testing.TB) *Bundle {
	t.Helper()
	b, _ := mustNext(t, nil, start)
	return b
}

// accepted fails the test unless a client that trusts the authorities accepts
// the leaf for every name.
func accepted(t testing.TB, leaf *x509.Certificate, trusted []byte, now time.Time, names ...string) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(trusted) {
		t.Fatal("no trusted authority")
	}
	for _, name := range names {
		_, err := leaf.Verify(x509.VerifyOptions{
			DNSName: name, Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		if err != nil {
			t.Fatalf("at %s the leaf is not accepted for %q: %v", now, name, err)
		}
	}
}

func mustData(t testing.TB, b *Bundle) map[string][]byte {
	t.Helper()
	data, err := b.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustParse(t testing.TB, data map[string][]byte) *Bundle {
	t.Helper()
	b, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func marshalEC(key any) ([]byte, error) {
	return x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey)) //nolint:forcetypeassert // a test
}
