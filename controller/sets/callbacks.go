package sets

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/remote"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// callbacks serve the address to which endpoints may send outcomes later.
type callbacks struct {
	*Service
	namespace string
	names     []string // by which endpoints call it
	offer     remote.Callbacks

	mu    sync.Mutex
	keys  [][]byte  // of tokens; nil: none are known
	known time.Time // when they were read
	err   error     // of the last attempt to read them
	tried time.Time // when that was
}

const (
	tokenSecret       = storage.ServicePrefix + "-callback-tokens"
	certificateSecret = storage.ServicePrefix + "-callback"
	tokenEntry        = "key"      // makes tokens
	tokenPrevious     = "previous" // made them before; tokens of it are still good
	tokenKeySize      = 32
	// tokenTTL is how soon a changed key is seen. Until then replicas may differ
	// in what they take for forged, so it is short.
	tokenTTL = 2 * time.Second
	// tokenStale is how long keys count that cannot be read again.
	tokenStale = 5 * time.Minute
	// certificatePeriod is how often the own certificate is looked at.
	certificatePeriod = time.Minute
	// drainTime is how long callbacks under way may take at the end.
	drainTime = 10 * time.Second
)

// newCallbacks returns nil where the settings want none.
func (s *Service) newCallbacks() (*callbacks, error) {
	settings := s.settings.Callback
	if !settings.Enabled() || !s.controls() {
		return nil, nil
	}
	c := &callbacks{Service: s, namespace: s.op.Namespace()}
	base := settings.URL
	if settings.Service != "" {
		c.names = cert.ServiceNames(c.namespace, settings.Service)
		host := c.names[0]
		if settings.ServicePort != 443 {
			host = net.JoinHostPort(host, strconv.Itoa(settings.ServicePort))
		}
		base = "https://" + host
	} else {
		u, err := url.Parse(base)
		if err != nil {
			return nil, fmt.Errorf("setting callback.url: %w", err)
		}
		c.names = []string{u.Hostname()}
	}
	c.offer = remote.Callbacks{Base: base, Keys: c.tokenKeys, Clock: s.clock}
	return c, nil
}

// tokenKeys returns the keys of tokens, the one that makes them first. They are
// read again after a while: to delete the Secret revokes all tokens.
func (c *callbacks) tokenKeys(ctx context.Context) ([][]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tried.IsZero() && c.clock.Since(c.tried) < tokenTTL {
		return c.keys, c.err
	}
	bounded, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	keys, err := c.readTokenKeys(bounded)
	if err != nil && ctx.Err() != nil {
		return nil, err // the caller has left
	}
	c.tried = c.clock.Now()
	switch {
	case err == nil:
		c.keys, c.err, c.known = keys, nil, c.tried
	case errors.Is(err, errNoTokenKey) || c.keys == nil || c.clock.Since(c.known) > tokenStale:
		c.keys, c.err = nil, err
	}
	return c.keys, c.err
}

// errNoTokenKey says that the Secret has no key that is good.
var errNoTokenKey = fmt.Errorf("want at least %d bytes: delete the Secret, it is made again", tokenKeySize)

// readTokenKeys reads the Secret, and makes it where there is none.
func (c *callbacks) readTokenKeys(ctx context.Context) (keys [][]byte, err error) {
	secret := &corev1.Secret{}
	name := client.ObjectKey{Namespace: c.namespace, Name: string(tokenSecret)}
	err = c.client.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		key := make([]byte, tokenKeySize)
		_, _ = rand.Read(key) // never fails
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
			Data:       map[string][]byte{tokenEntry: key},
		}
		if err = c.client.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
			err = c.client.Get(ctx, name, secret)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the key of callback tokens, Secret %s: %w", name, err)
	}
	for _, entry := range []string{tokenEntry, tokenPrevious} {
		key, ok := secret.Data[entry]
		if !ok && entry == tokenPrevious {
			continue
		}
		if len(key) < tokenKeySize {
			return nil, fmt.Errorf("the key of callback tokens, Secret %s, entry %q has %d bytes: %w", name, entry, len(key), errNoTokenKey)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// serve takes callbacks in until ctx ends.
func (c *callbacks) serve(ctx context.Context) error {
	settings := c.settings.Callback
	log := c.log.WithName("callbacks")
	source := cert.FromSecret(c.client, client.ObjectKey{Namespace: c.namespace, Name: string(certificateSecret)})
	if dir := settings.CertificateDir; dir != "" {
		source = cert.FromFiles(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	} else {
		manager := &cert.Manager{
			Client: c.client, Secret: client.ObjectKey{Namespace: c.namespace, Name: string(certificateSecret)}, Names: c.names, Log: log,
		}
		go c.rotate(ctx, manager)
	}
	source.Interval, source.Log = time.Second, log
	go func() {
		if err := source.Run(ctx); err != nil {
			log.Error(err, "The serving certificate is no longer kept up to date")
		}
	}()
	router := chi.NewRouter()
	receiver := &remote.Receiver{TokenKeys: c.tokenKeys, KeysOf: c.signers, Complete: c.complete, Clock: c.clock}
	receiver.Mount(router)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", settings.Address)
	if err != nil {
		return fmt.Errorf("listen for callbacks: %w", err)
	}
	server := &http.Server{
		Handler:   router,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source.GetCertificate},
		// The receiver has a deadline of its own for a body.
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog:    stdlog.New(io.Discard, "", 0), // it has what clients send
		BaseContext: func(net.Listener) context.Context { return logr.NewContext(context.WithoutCancel(ctx), log) },
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	log.Info("Taking callbacks", "address", listener.Addr().String(), "url", c.offer.Base)
	select {
	case err := <-served:
		return fmt.Errorf("serve callbacks: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return server.Shutdown(drain)
}

// rotate keeps the own certificate good.
func (c *callbacks) rotate(ctx context.Context, m *cert.Manager) {
	for ctx.Err() == nil {
		pause := certificatePeriod
		if _, err := m.Ensure(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "The certificate of callbacks cannot be kept, will retry")
			pause = 5 * time.Second
		}
		select {
		case <-ctx.Done():
		case <-c.clock.After(pause):
		}
	}
}

// signers are the keys of the token's handler.
func (c *callbacks) signers(ctx context.Context, t remote.Token) ([]remote.Key, error) {
	all := c.judged.Load()
	if all == nil {
		return nil, remote.ErrNotLeader
	}
	for _, v := range all.sets {
		for i := range v.set.Declared().Handlers {
			h := &v.set.Declared().Handlers[i]
			if v1alpha1.HandlerID(v.set, h.ID) != t.Handler {
				continue
			}
			if h.HTTP.SecretRef == nil {
				return nil, nil
			}
			name := client.ObjectKey{Namespace: h.HTTP.SecretNamespace(v.set, h.HTTP.SecretRef), Name: h.HTTP.SecretRef.Name}
			return c.endpoints.secrets.Keys(name)(ctx)
		}
	}
	return nil, remote.ErrUnknown
}

func (c *callbacks) complete(ctx context.Context, done remote.Completion) error {
	t := done.Token
	err := c.op.Complete(ctx, controller.Completion{
		Kind: t.GVK, Namespace: t.Namespace, Name: t.Name, UID: t.UID, HandlerID: t.Handler, Word: t.Nonce,
		Result: done.Result, Err: done.Err, Patch: done.Patch,
	})
	switch {
	case errors.Is(err, controller.ErrNotLeading):
		return remote.ErrNotLeader
	case errors.Is(err, controller.ErrSuperseded):
		return remote.ErrUsed
	case errors.Is(err, controller.ErrUnwritten):
		return remote.ErrConflict
	}
	return err
}
