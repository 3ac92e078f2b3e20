package sets

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dogear-dev/dogear/controller/remote"
)

// replicas are two processes that take callbacks.
type replicas struct {
	one, other *callbacks
	client     client.Client
	now        *testingclock.FakeClock
	broken     error // of reads
	reads      int
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{now: testingclock.NewFakeClock(time.Now())}
	r.client = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if r.reads++; r.broken != nil {
				return r.broken
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	r.one = &callbacks{Service: &Service{client: r.client, clock: r.now}, namespace: "dogear-system"}
	r.other = &callbacks{Service: &Service{client: r.client, clock: r.now}, namespace: "dogear-system"}
	return r
}

func (r *replicas) mint(t *testing.T, c *callbacks) string {
	t.Helper()
	keys, err := c.tokenKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := remote.Mint(keys, remote.Token{Name: "web", Expires: r.now.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (r *replicas) verify(t *testing.T, c *callbacks, text string) error {
	t.Helper()
	keys, err := c.tokenKeys(t.Context())
	if err == nil {
		_, err = remote.Verify(keys, text, r.now.Now())
	}
	return err
}

func (r *replicas) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "dogear-system", Name: string(tokenSecret)}}
}

func TestToDeleteTheKeyOfTokensRevokesThem(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	text := r.mint(t, r.one)
	for _, c := range []*callbacks{r.one, r.other} {
		if err := r.verify(t, c, text); err != nil {
			t.Error(err)
		}
	}
	if err := r.client.Delete(t.Context(), r.secret()); err != nil {
		t.Fatal(err)
	}
	r.now.Step(tokenTTL)
	fresh := r.mint(t, r.other)
	for name, c := range map[string]*callbacks{"one": r.one, "the other": r.other} {
		if err := r.verify(t, c, text); !errors.Is(err, remote.ErrTokenForged) {
			t.Errorf("%s: the token is still good: %v", name, err)
		}
		if err := r.verify(t, c, fresh); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTokensOfThePreviousKeyAreGood(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	text := r.mint(t, r.one)
	change := func(f func(map[string][]byte)) {
		t.Helper()
		secret := r.secret()
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
			t.Fatal(err)
		}
		f(secret.Data)
		if err := r.client.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		r.now.Step(tokenTTL)
	}
	change(func(data map[string][]byte) {
		data["previous"], data["key"] = data["key"], bytes.Repeat([]byte("k"), tokenKeySize)
	})
	if err := r.verify(t, r.one, text); err != nil {
		t.Error(err)
	}
	fresh := r.mint(t, r.one)
	change(func(data map[string][]byte) { data["previous"] = []byte("short") })
	if err := r.verify(t, r.one, fresh); !errors.Is(err, errNoTokenKey) || !strings.Contains(err.Error(), `entry "previous"`) {
		t.Error(err)
	}
	change(func(data map[string][]byte) { delete(data, "previous") })
	if err := r.verify(t, r.one, text); !errors.Is(err, remote.ErrTokenForged) {
		t.Error(err)
	}
	if err := r.verify(t, r.one, fresh); err != nil {
		t.Error(err)
	}
}

func TestKeysOfTokensCountWhileTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	text := r.mint(t, r.one)
	r.reads, r.broken = 0, errors.New("no answer")
	for range 10 {
		if err := r.verify(t, r.one, text); err != nil {
			t.Error(err)
		}
	}
	if r.reads != 0 {
		t.Errorf("read %d times for 10 callbacks at once", r.reads)
	}
	r.now.Step(tokenStale)
	if err := r.verify(t, r.one, text); err != nil {
		t.Error(err)
	}
	r.now.Step(tokenTTL)
	if err := r.verify(t, r.one, text); !errors.Is(err, r.broken) {
		t.Errorf("the keys are not known any more: %v", err)
	}
	r.broken = nil
	r.now.Step(tokenTTL)
	if err := r.verify(t, r.one, text); err != nil {
		t.Error(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.now.Step(tokenTTL)
	r.broken = context.Canceled
	_, _ = r.one.tokenKeys(gone) // says nothing for others
	r.broken = nil
	if err := r.verify(t, r.one, text); err != nil {
		t.Error(err)
	}
}
