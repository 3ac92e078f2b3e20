package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime of all certificates: no rig runs that long.
const lifetime = 10 * 24 * time.Hour

// An authority signs the certificates of one control plane.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// A pair is a certificate with its key, PEM encoded.
type pair struct{ cert, key []byte }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(pkix.Name{CommonName: "dogear rig"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// issue signs a certificate for a server of hosts and addresses, or for a client
// without any: the user CommonName in the groups Organization.
func (a *authority) issue(subject pkix.Name, hosts []string, addresses []net.IP) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	template := certificate(subject)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.DNSNames, template.IPAddresses = hosts, addresses
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{cert: encode("CERTIFICATE", der), key: encode("PRIVATE KEY", private)}, nil
}

func certificate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand does not fail
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime)}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// pki writes the files that the API server and the controller manager read,
// and returns the administrator's pair.
func (a *authority) pki(dir string, port int) (pair, error) {
	server, err := a.issue(pkix.Name{CommonName: "kube-apiserver"},
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		[]net.IP{net.IPv4(127, 0, 0, 1), firstServiceIP(port)})
	if err != nil {
		return pair{}, fmt.Errorf("issue the server's certificate: %w", err)
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	signing, err := x509.MarshalPKCS8PrivateKey(accounts)
	if err != nil {
		return pair{}, err
	}
	verifying, err := x509.MarshalPKIXPublicKey(accounts.Public())
	if err != nil {
		return pair{}, err
	}
	for name, text := range map[string][]byte{
		"ca.crt": a.pem, "server.crt": server.cert, "server.key": server.key,
		"accounts.key": encode("PRIVATE KEY", signing), "accounts.pub": encode("PUBLIC KEY", verifying),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return pair{}, err
		}
	}
	return a.issue(pkix.Name{CommonName: "rig-admin", Organization: []string{"system:masters"}}, nil, nil)
}
