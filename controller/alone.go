package controller

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/webhook"
)

// errNotAlone: another operator of the same domain is at work in the cluster.
// Both would call the handlers of each object.
var errNotAlone = errors.New("another operator of this domain is in the cluster")

// alone is an error where the webhook configuration leads to the Service of
// another installation. One whose Service is gone is no more; and what cannot be
// found out for want of rights is left to whoever did not give them.
func (op *Operator) alone(ctx context.Context) error {
	w := op.options.Webhook
	if w == nil || w.Service == "" {
		return nil
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err := op.client.Get(ctx, client.ObjectKey{Name: op.name()}, configuration)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for another operator of this domain: %w", err)
	}
	for _, c := range webhook.ClientConfigs(configuration) {
		if c.Service == nil || c.Service.Namespace == op.options.Namespace {
			continue
		}
		key := client.ObjectKey{Namespace: c.Service.Namespace, Name: c.Service.Name}
		if err := op.client.Get(ctx, key, &corev1.Service{}); err != nil {
			continue
		}
		return fmt.Errorf("%w: the webhook configuration %s leads to Service %s, and here is namespace %s: there is one in a cluster, so uninstall either",
			errNotAlone, op.name(), key, op.options.Namespace)
	}
	return nil
}
