package cert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"time"
)

// newAuthority makes an authority that can sign serving certificates only.
func newAuthority(now time.Time, validity time.Duration) (Pair, error) {
	return issue(&x509.Certificate{
		// The time tells authorities apart for people; a verifier goes by key.
		Subject:               pkix.Name{CommonName: fmt.Sprintf("dogear-webhook-ca@%d", now.Unix())},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(validity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, nil)
}

// newLeaf makes a serving certificate, which never outlives its authority.
func newLeaf(ca Pair, names nameSet, now time.Time, validity time.Duration) (Pair, error) {
	end := now.Add(validity)
	if ca.Certificate.NotAfter.Before(end) {
		end = ca.Certificate.NotAfter
	}
	return issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "dogear-webhook"},
		DNSNames:              names.dns,
		IPAddresses:           names.addresses(),
		NotBefore:             now.Add(-backdate),
		NotAfter:              end,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &ca)
}

// issue makes a key and a certificate for it; without a parent it signs itself.
func issue(template *x509.Certificate, parent *Pair) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make private key: %w", err)
	}
	signer := Pair{Certificate: template, Key: key}
	if parent != nil {
		signer = *parent
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.Certificate, key.Public(), signer.Key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate %q: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, fmt.Errorf("read certificate %q back: %w", template.Subject.CommonName, err)
	}
	return Pair{Certificate: certificate, Key: key}, nil
}
