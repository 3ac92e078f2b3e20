package remote

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

const (
	// secretTTL is how soon a changed Secret is seen.
	secretTTL = 10 * time.Second
	// secretStale is how long a Secret counts while the API server does not answer.
	secretStale = 5 * time.Minute
)

// KeySource returns the keys that sign requests; none: they are not signed.
type KeySource func(context.Context) ([]Key, error)

// CASource returns the PEM certificates of the authorities to trust.
type CASource func(context.Context) ([]byte, error)

// PairSource returns a client certificate.
type PairSource func(context.Context) (Pair, error)

// Pair is a client certificate and its key in PEM.
type Pair struct{ Certificate, Key []byte }

// Secrets reads what endpoints need from Secrets. A change is seen within
// 10 seconds, without the right to list or watch Secrets.
type Secrets struct {
	data *cache[types.NamespacedName, map[string][]byte]
}

// NewSecrets returns Secrets that need the right to get Secrets only, where
// reader has no cache.
func NewSecrets(reader client.Reader, clock clock.PassiveClock) *Secrets {
	return &Secrets{data: &cache[types.NamespacedName, map[string][]byte]{
		clock: clock, ttl: secretTTL, stale: secretStale,
		gone: isGone,
		read: func(ctx context.Context, key types.NamespacedName) (map[string][]byte, error) {
			secret := &corev1.Secret{}
			err := reader.Get(ctx, key, secret)
			return secret.Data, err
		},
	}}
}

// Keys reads the entry "key", and "previous" where it is there: while keys are
// changed, both sign.
func (s *Secrets) Keys(ref types.NamespacedName) KeySource {
	return func(ctx context.Context) ([]Key, error) {
		data, err := s.get(ctx, ref, v1alpha1.SigningKey)
		if err != nil {
			return nil, err
		}
		var keys []Key
		for _, name := range []string{v1alpha1.SigningKey, v1alpha1.SigningKeyPrevious} {
			text, ok := data[name]
			if !ok {
				continue
			}
			key, err := ParseKey(string(text))
			if err != nil {
				return nil, fmt.Errorf("entry %q of Secret %s: %w", name, ref, err)
			}
			keys = append(keys, key)
		}
		return keys, nil
	}
}

// CAs reads the entry ca.crt.
func (s *Secrets) CAs(ref types.NamespacedName) CASource {
	return func(ctx context.Context) ([]byte, error) {
		data, err := s.get(ctx, ref, v1alpha1.CACertificate)
		return data[v1alpha1.CACertificate], err
	}
}

// ClientCertificate reads the entries tls.crt and tls.key.
func (s *Secrets) ClientCertificate(ref types.NamespacedName) PairSource {
	return func(ctx context.Context) (Pair, error) {
		data, err := s.get(ctx, ref, v1alpha1.ClientCertificate, v1alpha1.ClientKey)
		return Pair{data[v1alpha1.ClientCertificate], data[v1alpha1.ClientKey]}, err
	}
}

// get returns the data of a Secret that has these entries.
func (s *Secrets) get(ctx context.Context, ref types.NamespacedName, entries ...string) (map[string][]byte, error) {
	data, err := s.data.get(ctx, ref)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no Secret %s", ref)
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", ref, err)
	}
	for _, entry := range entries {
		if len(data[entry]) == 0 {
			return nil, fmt.Errorf("there is no entry %q in Secret %s", entry, ref)
		}
	}
	return data, nil
}
