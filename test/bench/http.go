package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/bench/subject"
	"github.com/dogear-dev/dogear/webhook/cert"
)

const (
	endpointPort = 18443 // 8443 is often taken
	liveService  = "live"
	deadService  = "dead"
	tlsSecret    = "endpoints-tls"
	signing      = "signing"
	// deadTimeout is that of a call which is never answered: short, so that a
	// round has both calls that hang and an endpoint that counts as down.
	deadTimeout = time.Second
	// waitsForDead is the annotation that selects objects for a handler whose
	// endpoint is dead.
	waitsForDead = "bench.example.com/waits"
	// deadSet goes before the set that is measured, as sets count by name.
	deadSet = "absent"
)

// startEndpoints starts what handlers over HTTP call, if that has not been
// done: a process behind two Services. No service has its CPU time.
func (b *bench) startEndpoints(ctx context.Context) error {
	if b.endpoints != nil {
		return nil
	}
	namespace := namespaceOf(subject.HTTP)
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: signing},
		StringData: map[string]string{v1alpha1.SigningKey: "whsec_" + base64.StdEncoding.EncodeToString(key)},
	}
	if err := b.admin.Create(ctx, secret); err != nil {
		return err
	}
	var addresses, names []string
	for _, name := range []string{liveService, deadService} {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: endpointPort}}},
		}
		if err := b.admin.Create(ctx, service); err != nil {
			return err
		}
		addresses = append(addresses, net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(endpointPort)))
		names = append(names, cert.ServiceNames(namespace, name)...)
	}
	files, err := b.certificate(ctx, client.ObjectKey{Namespace: namespace, Name: tlsSecret}, names)
	if err != nil {
		return err
	}
	b.endpoints, err = b.launch(subject.Endpoint, subject.HTTP, "-address", addresses[0], "-dead", addresses[1], "-certificate", files)
	if err != nil {
		return err
	}
	return eventually(ctx, askEvery, func() error {
		if _, err := b.endpoints.ask(subject.Look); err != nil {
			return fatal{err}
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", addresses[1])
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// certificate makes a certificate for the names, kept in a Secret, and writes
// it to files.
func (b *bench) certificate(ctx context.Context, secret client.ObjectKey, names []string) (files string, err error) {
	if _, err := (&cert.Manager{Client: b.admin, Secret: secret, Names: names}).Ensure(ctx); err != nil {
		return "", err
	}
	stored := &corev1.Secret{}
	if err := b.admin.Get(ctx, secret, stored); err != nil {
		return "", err
	}
	files = filepath.Join(b.dir, secret.Name)
	return files, errors.Join(
		os.WriteFile(files+".crt", stored.Data[corev1.TLSCertKey], 0o600),
		os.WriteFile(files+".key", stored.Data[corev1.TLSPrivateKeyKey], 0o600),
	)
}

// declare puts the set of a scenario in force.
func (b *bench) declare(ctx context.Context, s scenario) error {
	_, id, _ := strings.Cut(subject.ServiceHandler, "/")
	handlers := []v1alpha1.Handler{{
		ID: id, Causes: []v1alpha1.Cause{v1alpha1.CauseCreate, v1alpha1.CauseUpdate},
		HTTP: calls(liveService, subject.AnswerPath(max(1, s.attempts), s.delay)),
	}}
	if s.finalizer {
		handlers = append(handlers, v1alpha1.Handler{
			ID: "cleanup", Causes: []v1alpha1.Cause{v1alpha1.CauseDelete}, HTTP: calls(liveService, "/"),
		})
	}
	return b.apply(ctx, setOf(subject.ServiceSet, handlers...))
}

// declareDead puts a set in force whose endpoint never answers.
func (b *bench) declareDead(ctx context.Context, annotations ...v1alpha1.AnnotationMatch) error {
	endpoint := calls(deadService, "/")
	// The default: a call holds a worker, so an endpoint that all of them may
	// call at once would hold up the others' objects until it counts as down.
	endpoint.Concurrency = 0
	endpoint.Timeout = &v1alpha1.Duration{Duration: deadTimeout}
	set := setOf(deadSet, v1alpha1.Handler{ID: "dead", Causes: []v1alpha1.Cause{v1alpha1.CauseCreate, v1alpha1.CauseUpdate}, HTTP: endpoint})
	set.Spec.Match.Annotations = annotations
	return b.apply(ctx, set)
}

func setOf(name string, handlers ...v1alpha1.Handler) *v1alpha1.ClusterHandlerSet {
	return &v1alpha1.ClusterHandlerSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.HandlerSetSpec{
			Resource: v1alpha1.Resource{Group: certificates.Group, Version: certificates.Version, Resource: certificates.Resource},
			Match:    &v1alpha1.Match{LabelSelector: onlyFor(subject.HTTP)},
			Handlers: handlers,
		},
	}
}

// calls is an endpoint: its requests are signed and as many at a time as there
// are workers.
func calls(service, path string) v1alpha1.HTTP {
	return v1alpha1.HTTP{
		Service:     &v1alpha1.ServiceReference{Namespace: namespaceOf(subject.HTTP), Name: service, Port: endpointPort, Path: path},
		CASecretRef: &v1alpha1.SecretReference{Name: tlsSecret}, SecretRef: &v1alpha1.SecretReference{Name: signing},
		Concurrency: workers,
	}
}

// apply creates a set and waits until it is in force.
func (b *bench) apply(ctx context.Context, set *v1alpha1.ClusterHandlerSet) error {
	if err := b.admin.Create(ctx, set); err != nil {
		return err
	}
	return eventually(ctx, askEvery, func() error {
		if err := b.admin.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return fatal{err}
		}
		ready := meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue {
			return fmt.Errorf("set %s is not in force: %+v", set.Name, ready)
		}
		return nil
	})
}

// dropSet removes a set in order, which takes a service that runs.
func (b *bench) dropSet(ctx context.Context, name string) error {
	set := &v1alpha1.ClusterHandlerSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := b.admin.Delete(ctx, set); err != nil {
		return err
	}
	return eventually(ctx, askEvery, func() error {
		switch err := b.admin.Get(ctx, client.ObjectKeyFromObject(set), set); {
		case client.IgnoreNotFound(err) != nil:
			return fatal{err}
		case err == nil:
			return fmt.Errorf("set %s is still there: %+v", name, set.Status.Conditions)
		}
		return nil
	})
}

// dropSets removes all sets once no service runs and no object is left.
func (b *bench) dropSets(ctx context.Context) error {
	sets := &v1alpha1.ClusterHandlerSetList{}
	if err := b.admin.List(ctx, sets); err != nil {
		return err
	}
	for i := range sets.Items {
		set := &sets.Items[i]
		if err := b.admin.Patch(ctx, set, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			return err
		}
		if err := b.admin.Delete(ctx, set); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// neighbour is what else there is in a turn of the service, besides what is
// measured: objects whose endpoint is dead.
func (t *turn) neighbour(ctx context.Context) (remove func() error, err error) {
	remove = func() error { return nil }
	switch t.contender {
	case deadSame:
		err = t.declareDead(ctx)
	case deadOthers:
		err = t.declareDead(ctx, v1alpha1.AnnotationMatch{Key: waitsForDead})
	default:
		return remove, nil
	}
	if err != nil {
		return remove, err
	}
	remove = func() error { return t.dropSet(ctx, deadSet) }
	if t.contender == deadOthers {
		err = t.backlog(ctx)
	}
	return remove, err
}

// backlog creates as many further objects, and waits until nothing is left to
// do for them but what the dead endpoint would have to answer.
func (t *turn) backlog(ctx context.Context) error {
	o, err := t.observe(ctx, t.contender, t.n, t.n)
	if err != nil {
		return err
	}
	defer o.stop()
	err = each(ctx, t.n, workers, func(ctx context.Context, i int) error {
		text := strings.Replace(string(body(subject.HTTP, t.n+i)), `"annotations":{`, `"annotations":{"`+waitsForDead+`":"",`, 1)
		return t.post(ctx, t.namespace, []byte(text))
	})
	return errors.Join(err, o.wait(ctx, whenHandled))
}

// dropWebhooks removes all webhook configurations.
func (b *bench) dropWebhooks(ctx context.Context) error {
	return errors.Join(
		b.admin.DeleteAllOf(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{}),
		b.admin.DeleteAllOf(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{}),
	)
}
