package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ledTo is an operator with the Service ours/webhook, in a cluster whose webhook
// configuration leads to another Service. answer comes before each read of a
// Service; nil: it is read.
func ledTo(t *testing.T, namespace, name string, answer func() error) *Operator {
	t.Helper()
	op, err := New(Options{Domain: "example.com", Namespace: "ours", Declared: true, Webhook: &Webhook{Service: "webhook"}})
	if err != nil {
		t.Fatal(err)
	}
	service := func(namespace, name string) client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: op.name()},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name},
		}}},
	}
	cluster := fake.NewClientBuilder().WithObjects(configuration, service("ours", "webhook"), service("ours", "other"), service("theirs", "webhook")).Build()
	op.client = interceptor.NewClient(cluster, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, ok := o.(*corev1.Service); ok && answer != nil {
				if err := answer(); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, o, options...)
		},
	})
	return op
}

func TestOneOperatorOfADomain(t *testing.T) {
	for _, c := range []struct {
		namespace, name string
		alone           bool
	}{
		{"ours", "webhook", true},
		{"ours", "other", false}, // in one namespace they would share a Lease, and the configuration
		{"theirs", "webhook", false},
		{"theirs", "gone", true},
		{"ours", "gone", true},
	} {
		err := ledTo(t, c.namespace, c.name, nil).awaitAlone(t.Context())
		if c.alone != (err == nil) || err != nil && (!errors.Is(err, errNotAlone) || !strings.Contains(err.Error(), c.namespace+"/"+c.name)) {
			t.Errorf("where the configuration leads to %s/%s: %v", c.namespace, c.name, err)
		}
	}
}

// That the API server does not answer does not mean that nobody is there.
func TestNoAnswerIsNotThatNobodyIsThere(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	for name, trouble := range map[string]error{
		"429": apierrors.NewTooManyRequests("busy", 1), "500": apierrors.NewInternalError(errors.New("etcd")),
		"time-out": apierrors.NewServerTimeout(services, "get", 1), "connection": errors.New("connection refused"),
	} {
		asked := 0
		err := ledTo(t, "theirs", "webhook", func() error {
			if asked++; asked == 1 {
				return trouble
			}
			return nil
		}).awaitAlone(t.Context())
		if !errors.Is(err, errNotAlone) || asked != 2 {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
	}
	forbidden := ledTo(t, "theirs", "webhook", func() error { return apierrors.NewForbidden(services, "webhook", nil) })
	if err := forbidden.awaitAlone(t.Context()); err != nil {
		t.Errorf("who may not look at the Service: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := ledTo(t, "theirs", "webhook", func() error { cancel(); return errors.New("connection refused") })
	if err := stopped.awaitAlone(ctx); !errors.Is(err, context.Canceled) || ignoreEnd(ctx, err) != nil {
		t.Errorf("when the Lease has ended: %v", err)
	}
}
