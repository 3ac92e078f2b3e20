package cert

import (
	"crypto"
	"crypto/x509"
	"slices"
	"time"
)

// Keys of the Secret.
const (
	// KeyCAs holds every trusted authority as PEM: the one that signs first.
	KeyCAs = "ca.crt"
	// KeyCAKeys holds the private keys of the authorities that sign now or next.
	KeyCAKeys = "ca.key"
	// KeyCertificate holds the serving certificate.
	KeyCertificate = "tls.crt"
	// KeyPrivateKey holds the private key of the serving certificate.
	KeyPrivateKey = "tls.key"
)

// maxPrevious bounds how many former authorities stay trusted. More than one
// are there only if keys were lost again and again within a year.
const maxPrevious = 3

// Pair is a certificate with its private key. Either is nil where it is lost.
type Pair struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// Bundle is all that the Secret holds. Treat it as read-only: bundles share
// their certificates.
type Bundle struct {
	// CA is the authority that signs.
	CA Pair
	// Next is the authority that is published already and signs later; nil
	// unless a rotation is under way.
	Next *Pair
	// Previous are former authorities that are still trusted, newest first.
	Previous []*x509.Certificate
	// Leaf is the serving certificate.
	Leaf Pair
}

// Authorities returns every trusted authority, the one that signs first.
func (b *Bundle) Authorities() []*x509.Certificate {
	var all []*x509.Certificate
	if b.CA.Certificate != nil {
		all = append(all, b.CA.Certificate)
	}
	if b.Next != nil {
		all = append(all, b.Next.Certificate)
	}
	return append(all, b.Previous...)
}

// CABundle returns every trusted authority as PEM, for `caBundle` of a webhook
// configuration. It is empty only for a bundle that [Next] has not seen.
func (b *Bundle) CABundle() []byte { return encodeCertificates(b.Authorities()...) }

func (b *Bundle) clone() *Bundle {
	if b == nil {
		return &Bundle{}
	}
	c := *b
	c.Previous = slices.Clone(b.Previous)
	return &c
}

// promote makes Next the authority that signs. The former one stays trusted
// until it expires, its private key is forgotten.
func (b *Bundle) promote(now time.Time) {
	if former := b.CA.Certificate; former != nil && !now.After(former.NotAfter) {
		b.Previous = slices.Insert(b.Previous, 0, former)
		b.Previous = b.Previous[:min(len(b.Previous), maxPrevious)]
	}
	b.CA, b.Next = *b.Next, nil
}

// matches tells whether key is the private key of the pair's certificate.
func (p Pair) matches(key crypto.Signer) bool {
	if p.Certificate == nil || key == nil {
		return false
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(p.Certificate.PublicKey)
}
