package cert

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// maxPEM bounds what is parsed of one key of the Secret, or one CA file.
const maxPEM = 256 << 10

// ErrData is wrapped by every error about stored certificates that are missing,
// unreadable or do not belong together.
var ErrData = errors.New("certificate data")

// Data returns the bundle as the data of a Secret.
func (b *Bundle) Data() (map[string][]byte, error) {
	caKeys := []crypto.Signer{b.CA.Key}
	if b.Next != nil {
		caKeys = append(caKeys, b.Next.Key)
	}
	caKey, err := encodeKeys(caKeys...)
	if err != nil {
		return nil, err
	}
	leafKey, err := encodeKeys(b.Leaf.Key)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		KeyCAs: b.CABundle(), KeyCAKeys: caKey,
		KeyCertificate: encodeCertificates(b.Leaf.Certificate), KeyPrivateKey: leafKey,
	}, nil
}

// Parse reads the data of a Secret. The bundle has whatever can be read, never
// nil; the error, which wraps [ErrData], says what cannot. [Next] replaces it.
func Parse(data map[string][]byte) (*Bundle, error) {
	cas, caErr := decodeCertificates(KeyCAs, data[KeyCAs])
	caKeys, caKeyErr := decodeKeys(KeyCAKeys, data[KeyCAKeys])
	leafs, leafErr := decodeCertificates(KeyCertificate, data[KeyCertificate])
	leafKeys, leafKeyErr := decodeKeys(KeyPrivateKey, data[KeyPrivateKey])

	b := &Bundle{}
	for i, ca := range cas {
		pair := withKey(ca, caKeys)
		switch {
		case i == 0:
			b.CA = pair
		case b.Next == nil && pair.Key != nil:
			b.Next = &pair
		default:
			b.Previous = append(b.Previous, ca)
		}
	}
	if len(leafs) > 0 {
		b.Leaf = withKey(leafs[0], leafKeys)
	}
	return b, errors.Join(caErr, caKeyErr, leafErr, leafKeyErr)
}

// ParseCABundle reads PEM that holds certificates and nothing else, at least
// one. An API server takes no other `caBundle`.
func ParseCABundle(text []byte) ([]*x509.Certificate, error) {
	return decodeCertificates("CA bundle", text)
}

func withKey(c *x509.Certificate, keys []crypto.Signer) Pair {
	pair := Pair{Certificate: c}
	if i := slices.IndexFunc(keys, pair.matches); i >= 0 {
		pair.Key = keys[i]
	}
	return pair
}

func encodeCertificates(certificates ...*x509.Certificate) []byte {
	var text []byte
	for _, c := range certificates {
		if c != nil {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
		}
	}
	return text
}

func encodeKeys(keys ...crypto.Signer) ([]byte, error) {
	var text []byte
	for _, key := range keys {
		if key == nil {
			continue
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, fmt.Errorf("encode private key: %w", err)
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	}
	return text, nil
}

func decodeCertificates(name string, text []byte) ([]*x509.Certificate, error) {
	return decodeAll(name, text, func(block *pem.Block) (*x509.Certificate, error) {
		if block.Type != "CERTIFICATE" {
			return nil, errors.New("not a certificate")
		}
		return x509.ParseCertificate(block.Bytes)
	})
}

func decodeKeys(name string, text []byte) ([]crypto.Signer, error) {
	return decodeAll(name, text, func(block *pem.Block) (crypto.Signer, error) {
		// The cause is dropped: nothing about a private key goes into a text.
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if signer, ok := key.(crypto.Signer); ok {
				return signer, nil
			}
		} else if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		return nil, errors.New("not a private key in PKCS #8 or SEC 1 form")
	})
}

// decodeAll returns every block that can be read, and an error for the others.
func decodeAll[T any](name string, text []byte, decode func(*pem.Block) (T, error)) ([]T, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("%w: %s has %d bytes, more than %d", ErrData, name, len(text), maxPEM)
	}
	var all []T
	var broken error
	for n, rest := 1, text; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		one, err := decode(block)
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%w: %s, block %d: %w", ErrData, name, n, err))
			continue
		}
		all = append(all, one)
	}
	if len(all) == 0 && broken == nil {
		broken = fmt.Errorf("%w: %s holds no PEM block", ErrData, name)
	}
	return all, broken
}
