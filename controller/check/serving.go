package check

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/webhook/cert"
)

// dialTimeout bounds the connection to the webhook.
const dialTimeout = 3 * time.Second

// served is the chain of certificates that the webhook serves.
type served struct {
	chain  []*x509.Certificate // the leaf first
	from   string              // where it was read
	dialed bool                // and not read where it is kept
}

// address is where API servers call the webhook, and by which name.
func (r *round) address(ctx context.Context, c *admissionregistrationv1.WebhookClientConfig) (host, address string, err error) {
	if c.Service == nil {
		u, err := url.Parse(*c.URL)
		if err != nil {
			return "", "", fmt.Errorf("the URL of the webhook: %w", err)
		}
		port := u.Port()
		if port == "" {
			port = "443"
		}
		return u.Hostname(), net.JoinHostPort(u.Hostname(), port), nil
	}
	service := &corev1.Service{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: c.Service.Namespace, Name: c.Service.Name}, service); err != nil {
		return "", "", err
	}
	port := 443
	if c.Service.Port != nil {
		port = int(*c.Service.Port)
	}
	return cert.ServiceNames(c.Service.Namespace, c.Service.Name)[0], net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(port)), nil
}

// serving asks the webhook for its certificate, or reads it where it is kept.
// The address of a Service means something in its own cluster alone: outside,
// nobody answers there, or somebody else.
func (r *round) serving(ctx context.Context, h *hook, c *admissionregistrationv1.WebhookClientConfig, host, address string) (*served, error) {
	return r.leaf.get(func() (*served, error) {
		err := errors.New("Services cannot be reached from outside of the cluster") //nolint:staticcheck // Service is a kind
		if c.Service == nil || inCluster(r.options.Config) {
			var found *served
			if found, err = dialed(ctx, host, address); err == nil {
				return found, nil
			}
		}
		stored, kept := r.kept(ctx, h)
		if kept != nil {
			return nil, fmt.Errorf("%w; %w", err, kept)
		}
		return stored, nil
	})
}

// dialed is what is served at an address.
func dialed(ctx context.Context, host, address string) (*served, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	//nolint:gosec // it is verified afterwards, so that it can be told what is wrong with it
	dialer := &tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close() //nolint:errcheck // nothing was written
	chain := connection.(*tls.Conn).ConnectionState().PeerCertificates
	if len(chain) == 0 {
		return nil, errors.New("it shows no certificate")
	}
	return &served{chain: chain, from: "as " + address + " serves it", dialed: true}, nil
}

// inCluster tells whether this process runs in a Pod of the cluster that it asks.
func inCluster(c *rest.Config) bool {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	return host != "" && c.Host == "https://"+net.JoinHostPort(host, port)
}

// kept reads the certificate from its Secret.
func (r *round) kept(ctx context.Context, h *hook) (*served, error) {
	if h.place == nil {
		return nil, errors.New("its Secret is not known")
	}
	name := h.place.secretOf(string(r.prefix))
	if name == "" {
		return nil, errors.New("its Secret is not known")
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: h.place.Namespace, Name: name}, secret); err != nil {
		return nil, err
	}
	chain, err := cert.ParseCABundle(secret.Data[cert.KeyCertificate])
	if err != nil {
		return nil, fmt.Errorf("Secret %s: %w", name, err) //nolint:staticcheck // Secret is a kind
	}
	return &served{chain: chain, from: "as the Secret " + name + " has it"}, nil
}

// secretOf is the name of the Secret that the webhook's certificate is in;
// empty: it is not known.
func (p *place) secretOf(prefix string) string {
	if p.settings.certificateDir == "" {
		if p.settings.secret != "" {
			return p.settings.secret
		}
		return prefix + "-webhook"
	}
	d := p.Webhook()
	if d == nil {
		d = p.Controller()
	}
	if names := mountedSecrets(d, p.settings.certificateDir); len(names) > 0 {
		return names[0]
	}
	return ""
}
