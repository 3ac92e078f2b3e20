package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/webhook"
)

// errNotAlone: another operator of the same domain is at work in the cluster.
// Both would call the handlers of each object, or, in one namespace, write each
// other's webhook configuration.
var errNotAlone = errors.New("another operator of this domain is in the cluster")

// alonePause is the pause before the API server is asked again that did not
// answer.
const alonePause = time.Second

// awaitAlone is alone, asked until the API server has answered: no answer is not
// that nobody is there, and it is asked once only while this process leads.
func (op *Operator) awaitAlone(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, alonePause, true, func(ctx context.Context) (bool, error) {
		err := op.alone(ctx)
		if err == nil || errors.Is(err, errNotAlone) {
			return true, err
		}
		op.options.Log.Error(err, "It is not known whether another operator of this domain is there, will retry")
		return false, nil
	})
}

// alone is an error where the webhook configuration leads to the Service of
// another installation. One whose Service is gone is no more; and what cannot be
// found out for want of rights is left to whoever did not give them.
func (op *Operator) alone(ctx context.Context) error {
	w := op.options.Webhook
	if w == nil || w.Service == "" {
		return nil
	}
	own := client.ObjectKey{Namespace: op.options.Namespace, Name: w.Service}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := op.client.Get(ctx, client.ObjectKey{Name: op.name()}, configuration); isHidden(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for another operator of this domain: %w", err)
	}
	for _, c := range webhook.ClientConfigs(configuration) {
		if c.Service == nil {
			continue
		}
		key := client.ObjectKey{Namespace: c.Service.Namespace, Name: c.Service.Name}
		if key == own {
			continue
		}
		if err := op.client.Get(ctx, key, &corev1.Service{}); isHidden(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("look for the Service %s of another operator of this domain: %w", key, err)
		}
		return fmt.Errorf("%w: the webhook configuration %s leads to Service %s, and here it is %s: there is one in a cluster, so uninstall either, or delete that Service if nothing is behind it any more",
			errNotAlone, op.name(), key, own)
	}
	return nil
}

// isHidden tells that something is not there, or not for this process to see.
func isHidden(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }
