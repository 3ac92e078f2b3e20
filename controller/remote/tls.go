package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// material is what a TLS configuration is made of, as it was read.
type material struct {
	cas         []byte
	certificate []byte
	key         []byte
}

func (m material) equal(other material) bool {
	return bytes.Equal(m.cas, other.cas) && bytes.Equal(m.certificate, other.certificate) && bytes.Equal(m.key, other.key)
}

// material reads what the endpoint's certificates are now.
func (e Endpoint) material(ctx context.Context) (m material, err error) {
	if e.Plaintext {
		return m, nil
	}
	if e.CAs != nil {
		if m.cas, err = e.CAs(ctx); err != nil {
			return m, err
		}
	}
	if e.ClientCertificate != nil {
		pair, err := e.ClientCertificate(ctx)
		if err != nil {
			return m, err
		}
		m.certificate, m.key = pair.Certificate, pair.Key
	}
	return m, nil
}

// config is a TLS configuration of that material.
func (m material) config(serverName string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: serverName}
	if m.cas != nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(m.cas) {
			return nil, errors.New("the CA bundle has no PEM certificate")
		}
	}
	if m.certificate != nil {
		pair, err := tls.X509KeyPair(m.certificate, m.key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
