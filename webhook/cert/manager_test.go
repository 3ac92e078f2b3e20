package cert

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var secretName = types.NamespacedName{Namespace: "dogear", Name: "webhook-tls"}

func newManager(c client.Client, now time.Time) *Manager {
	return &Manager{
		Client: c, Secret: secretName, Names: names, Labels: map[string]string{"app": "dogear"},
		Clock: func() time.Time { return now },
	}
}

func mustEnsure(t testing.TB, m *Manager) *Bundle {
	t.Helper()
	b, err := m.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustGet(t testing.TB, c client.Client) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), secretName, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestEnsureCreatesTheSecretOnce(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().Build()
	b := mustEnsure(t, newManager(c, start))
	secret := mustGet(t, c)
	if secret.Type != corev1.SecretTypeTLS || secret.Labels["app"] != "dogear" {
		t.Errorf("type %q, labels %v", secret.Type, secret.Labels)
	}
	if stored := mustParse(t, secret.Data); !stored.Leaf.Certificate.Equal(b.Leaf.Certificate) {
		t.Error("the secret has another leaf than was returned")
	}
	mustEnsure(t, newManager(c, start.Add(time.Hour)))
	if again := mustGet(t, c); again.ResourceVersion != secret.ResourceVersion {
		t.Error("the second call wrote the secret without need")
	}
}

func TestEnsureUpdatesAndKeepsWhatIsForeign(t *testing.T) {
	t.Parallel()
	tests := map[string]map[string][]byte{
		"made beforehand, empty": nil,
		"with a foreign key":     {"mine": []byte("1")},
		"broken":                 {"mine": []byte("1"), KeyCAs: []byte("garbage"), KeyPrivateKey: nil},
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fake.NewClientBuilder().WithObjects(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: secretName.Namespace, Name: secretName.Name, Annotations: map[string]string{"a": "b"},
				},
				Data: data,
			}).Build()
			b := mustEnsure(t, newManager(c, start))
			secret := mustGet(t, c)
			accepted(t, b.Leaf.Certificate, secret.Data[KeyCAs], start, names...)
			if !bytes.Equal(secret.Data["mine"], data["mine"]) || secret.Annotations["a"] != "b" {
				t.Errorf("foreign content was lost: %v", secret.Annotations)
			}
		})
	}
}

// Garbage beside a good authority would make an API server refuse the bundle.
func TestEnsureCleansWhatItDidNotWrite(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().Build()
	before := mustEnsure(t, newManager(c, start))
	secret := mustGet(t, c)
	secret.Data[KeyCAs] = append(secret.Data[KeyCAs], "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"...)
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	after := mustEnsure(t, newManager(c, start))
	if !after.Leaf.Certificate.Equal(before.Leaf.Certificate) {
		t.Error("the leaf was issued again")
	}
	if _, err := ParseCABundle(mustGet(t, c).Data[KeyCAs]); err != nil {
		t.Error(err)
	}
}

func TestEnsureTakesOverTheResultOfARacingProcess(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().Build()
	const processes = 4
	bundles := make([]*Bundle, processes)
	for _, now := range []time.Time{start, start.Add(5 * day)} { // a creation, then a renewal
		var group sync.WaitGroup
		for i := range processes {
			group.Go(func() {
				var err error
				if bundles[i], err = newManager(c, now).Ensure(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if t.Failed() {
			return
		}
		stored := mustParse(t, mustGet(t, c).Data)
		for i, b := range bundles {
			if !b.Leaf.Certificate.Equal(stored.Leaf.Certificate) {
				t.Errorf("process %d returned another leaf than is stored", i)
			}
		}
	}
}

func TestEnsureFails(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	forbidden := apierrors.NewForbidden(secrets, secretName.Name, errors.New("no"))
	conflict := apierrors.NewConflict(secrets, secretName.Name, errors.New("changed"))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx    context.Context
		get    error
		create error
		names  []string
		want   error
		calls  int
	}{
		"when it may not read":       {get: forbidden, names: names, want: forbidden},
		"when it may not create":     {create: forbidden, names: names, want: forbidden, calls: 1},
		"when others never stop":     {create: conflict, names: names, want: ErrContended, calls: attempts},
		"when it has no name":        {want: ErrNames},
		"at once when it is stopped": {ctx: cancelled, create: conflict, names: names, want: context.Canceled, calls: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if test.get != nil {
						return test.get
					}
					return c.Get(ctx, key, o, opts...)
				},
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					calls++
					return test.create
				},
			}).Build()
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			m := newManager(c, start)
			m.Names = test.names
			if _, err := m.Ensure(ctx); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if calls != test.calls {
				t.Errorf("%d calls, want %d", calls, test.calls)
			}
		})
	}
}
