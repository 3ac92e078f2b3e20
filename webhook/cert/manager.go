package cert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// attempts bounds how often Ensure starts again because another process wrote
// first. Then the Secret is good, so the second look is nearly always the last.
const attempts = 5

// ErrContended says that other processes kept on writing the Secret.
var ErrContended = errors.New("the secret kept changing")

// Manager keeps a [Bundle] in a Secret. Several processes may do so at once:
// the first write wins, the others take over its result.
type Manager struct {
	// Client reads and writes the Secret. Give it one without a cache: it needs
	// get and update on this one Secret, and create in its namespace unless the
	// Secret is made beforehand, empty.
	Client client.Client
	// Secret names the Secret. Foreign keys, labels and annotations in it stay.
	Secret types.NamespacedName
	// Labels are set on a Secret that Ensure creates.
	Labels map[string]string
	// Names are the DNS names and IP addresses by which API servers call, see
	// [ServiceNames].
	Names []string
	// Policy says how long certificates live.
	Policy Policy
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Log gets a line for each change; the zero value logs nothing.
	Log logr.Logger
}

// Ensure brings the Secret up to date and returns what it holds then. Call it
// on a period much shorter than [Policy].Overlap, and publish the bundle's
// authorities each time. An error leaves the Secret as it was.
func (m *Manager) Ensure(ctx context.Context) (*Bundle, error) {
	for range attempts {
		bundle, err := m.ensure(ctx)
		switch {
		case err == nil:
			return bundle, nil
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return nil, fmt.Errorf("keep certificates in secret %q: %w", m.Secret, err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("keep certificates in secret %q: %w, even at attempt %d", m.Secret, ErrContended, attempts)
}

func (m *Manager) ensure(ctx context.Context) (*Bundle, error) {
	secret := &corev1.Secret{}
	err := m.Client.Get(ctx, m.Secret, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	missing := apierrors.IsNotFound(err)

	stored, broken := Parse(secret.Data)
	next, changed, err := Next(stored, m.Names, m.now(), m.Policy)
	if err != nil {
		return nil, err
	}
	if !changed && broken == nil {
		return next, nil
	}
	data, err := next.Data()
	if err != nil {
		return nil, err
	}
	if missing {
		err = m.create(ctx, data)
	} else {
		err = m.update(ctx, secret, data)
	}
	if err != nil {
		return nil, err
	}
	m.report(stored, next, broken, missing)
	return next, nil
}

func (m *Manager) create(ctx context.Context, data map[string][]byte) error {
	return m.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Secret.Namespace, Name: m.Secret.Name, Labels: m.Labels},
		Type:       corev1.SecretTypeTLS,
		Data:       data,
	})
}

// update is refused with a conflict if the Secret is not what was read.
func (m *Manager) update(ctx context.Context, secret *corev1.Secret, data map[string][]byte) error {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
	return m.Client.Update(ctx, secret)
}

func (m *Manager) report(stored, next *Bundle, broken error, missing bool) {
	log := m.Log.WithValues("secret", m.Secret.String())
	if broken != nil && !missing {
		log.Info("Replaced broken certificates", "reason", broken.Error())
	}
	if !bytes.Equal(stored.CABundle(), next.CABundle()) {
		log.Info("Changed the trusted authorities", "trusted", len(next.Authorities()), "rotating", next.Next != nil,
			"notAfter", next.CA.Certificate.NotAfter)
	}
	if stored.Leaf.Certificate == nil || !stored.Leaf.Certificate.Equal(next.Leaf.Certificate) {
		log.Info("Issued a serving certificate", "notAfter", next.Leaf.Certificate.NotAfter)
	}
}

func (m *Manager) now() time.Time {
	if m.Clock == nil {
		return time.Now()
	}
	return m.Clock()
}
