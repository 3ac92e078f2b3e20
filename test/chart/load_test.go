package chart

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// load is users who create and change objects all the time, each request
// through the webhook.
type load struct {
	*bench
	stop     context.CancelFunc
	group    sync.WaitGroup
	requests atomic.Int64
	failed   atomic.Int64
	bare     atomic.Int64 // requests that came back without a stamp
	errs     chan error
}

const loadUsers = 4

func (b *bench) load(prefix string) *load {
	ctx, stop := context.WithCancel(b.Context())
	l := &load{bench: b, stop: stop, errs: make(chan error, 16)}
	for user := range loadUsers {
		l.group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.one(ctx, fmt.Sprintf("%s-%d-%d", prefix, user, i))
			}
		})
	}
	b.Cleanup(func() { stop(); l.group.Wait() })
	return l
}

// one creates an object, changes it, and deletes it. What is asked for is
// asked to the end, so that a request counts that was under way.
func (l *load) one(ctx context.Context, name string) {
	ctx = context.WithoutCancel(ctx)
	u := l.newCertificate(name)
	l.note(l.admin.Create(ctx, u), stateOf(u) == "Pending")
	err := l.admin.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"secretName":"other-tls"}}`)))
	l.note(err, stateOf(u) == "Pending")
	if err := l.admin.Delete(ctx, u); err != nil {
		l.note(err, true)
	}
}

func (l *load) note(err error, stamped bool) {
	l.requests.Add(1)
	switch {
	case err != nil:
		l.failed.Add(1)
		select {
		case l.errs <- err:
		default:
		}
	case !stamped:
		l.bare.Add(1)
	}
}

// more waits until as many requests were made since now.
func (l *load) more(n int64) {
	l.Helper()
	until := l.requests.Load() + n
	l.eventually(func() error {
		if have := l.requests.Load(); have < until {
			return fmt.Errorf("%d requests of %d", have, until)
		}
		return nil
	})
}

// end checks that all went well.
func (l *load) end() {
	l.Helper()
	l.stop()
	l.group.Wait()
	if failed, bare := l.failed.Load(), l.bare.Load(); failed+bare > 0 {
		l.Errorf("of %d requests %d failed and %d came back without a stamp: %v", l.requests.Load(), failed, bare, l.err())
	}
	l.Logf("%d requests", l.requests.Load())
}

func (l *load) err() error {
	select {
	case err := <-l.errs:
		return err
	default:
		return nil
	}
}

// failOpen is how many requests the API server has let through unstamped.
func (b *bench) failOpen() float64 {
	b.Helper()
	n, err := b.cp.Metric(b.Context(), "apiserver_admission_webhook_fail_open_count", nil)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// stored is the Secret with the webhook's certificates, and what it holds.
func (b *bench) stored() (*corev1.Secret, *cert.Bundle) {
	b.Helper()
	secret := &corev1.Secret{}
	if err := b.admin.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: "dogear.dev-webhook"}, secret); err != nil {
		b.Fatal(err)
	}
	bundle, err := cert.Parse(secret.Data)
	if err != nil {
		b.Fatal(err)
	}
	return secret, bundle
}

// rotate begins a rotation of the authority whose second step is due in a
// while, not in a day: the next one is as old as it has to be by then.
func (b *bench) rotate(in time.Duration) (next *x509.Certificate) {
	b.Helper()
	at := time.Now().Add(in).Add(-cert.Policy{}.WithDefaults().Overlap)
	m := &cert.Manager{
		Client: fake.NewClientBuilder().Build(), Secret: types.NamespacedName{Namespace: namespace, Name: "next"},
		Names: []string{"next"}, Clock: func() time.Time { return at },
	}
	made, err := m.Ensure(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	secret, bundle := b.stored()
	bundle.Next = &made.CA
	if secret.Data, err = bundle.Data(); err != nil {
		b.Fatal(err)
	}
	if err := b.admin.Update(b.Context(), secret); err != nil {
		b.Fatal(err)
	}
	return made.CA.Certificate
}

// TestNoRequestIsLostWhileTheWebhookChanges: Pods are replaced and the authority
// of its certificate is, while users work: no request fails, and none gets
// through without a stamp.
func TestNoRequestIsLostWhileTheWebhookChanges(t *testing.T) {
	b := newBench(t)
	b.install("--set=webhook.replicas=3")
	e := b.endpoint("hook", nil)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Update], http: "+e.http()+"}\n")
	b.await("Succeeded", b.certificate("first"))
	b.eventually(func() error { // the webhook is at work
		u := b.newCertificate("probe")
		if err := b.admin.Create(t.Context(), u, client.DryRunAll); err != nil {
			return err
		}
		if stateOf(u) != "Pending" {
			return errors.New("no stamp yet")
		}
		return nil
	})
	before := b.failOpen()
	l := b.load("load")
	l.more(50)
	// More than the minute after which the next authority is published at the latest.
	next := b.rotate(75 * time.Second)

	b.restart("dogear-webhook")
	l.more(50)
	b.restart("dogear-controller")
	l.more(50)
	rigtest.Eventually(t, 4*time.Minute, func() error {
		_, bundle := b.stored()
		if !bundle.CA.Certificate.Equal(next) {
			return errors.New("the authority is the old one")
		}
		return b.serves(bundle) // and the Pods serve what the new one has signed
	})
	l.more(200)
	l.end()
	if after := b.failOpen(); after != before {
		t.Errorf("the API server let %v requests through unstamped", after-before)
	}
}

// restart replaces the Pods of a Deployment, as kubectl rollout restart does,
// and waits until that is done.
func (b *bench) restart(name string) {
	b.Helper()
	old := map[types.UID]bool{}
	pods, err := b.node.Pods(b.Context(), namespace, "")
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range pods {
		old[p.UID] = true
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339))
	if err := b.admin.Patch(b.Context(), d, client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
		b.Fatal(err)
	}
	b.rolledOut(name, old)
}

// rolledOut waits until a Deployment runs none of the Pods from before.
func (b *bench) rolledOut(name string, before map[types.UID]bool) {
	b.Helper()
	b.eventually(func() error {
		d := &appsv1.Deployment{}
		if err := b.admin.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: name}, d); err != nil {
			return err
		}
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != *d.Spec.Replicas || s.AvailableReplicas != *d.Spec.Replicas || s.Replicas != *d.Spec.Replicas {
			return fmt.Errorf("%s: %+v", name, s)
		}
		pods, err := b.node.Pods(b.Context(), namespace, metav1.FormatLabelSelector(d.Spec.Selector))
		if err != nil {
			return err
		}
		for _, p := range pods {
			if before[p.UID] {
				return fmt.Errorf("Pod %s is still there", p.Name)
			}
		}
		return nil
	})
}

// serves is an error unless the webhook's Service leads to a certificate of the
// authority that signs.
func (b *bench) serves(bundle *cert.Bundle) error {
	service := &corev1.Service{}
	if err := b.admin.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: "dogear-webhook"}, service); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(bundle.CA.Certificate)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: cert.ServiceNames(namespace, "dogear-webhook")[0]}}
	connection, err := dialer.DialContext(b.Context(), "tcp", net.JoinHostPort(service.Spec.ClusterIP, fmt.Sprint(service.Spec.Ports[0].Port)))
	if err != nil {
		return err
	}
	return connection.Close()
}
