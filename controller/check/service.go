package check

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (r *round) serviceEndpoints(ctx context.Context) Result {
	h, none := r.hook(ctx)
	if h == nil {
		return none
	}
	service, none := h.service()
	if service == nil {
		return none
	}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: service.Name}, &corev1.Service{}); apierrors.IsNotFound(err) {
		return failed("Service %s/%s is not there", service.Namespace, service.Name).hint("helm upgrade makes it again; webhook.service in the settings is its name")
	} else if err != nil {
		return r.unread(err)
	}
	slices := &discoveryv1.EndpointSliceList{}
	ready, other := 0, 0
	err := r.pages(ctx, slices, func() bool {
		for i := range slices.Items {
			for _, e := range slices.Items[i].Endpoints {
				if e.Conditions.Ready == nil || *e.Conditions.Ready {
					ready++
				} else {
					other++
				}
			}
		}
		return true
	}, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	switch {
	case err != nil:
		return r.unread(err)
	case ready == 0:
		return failed("Service %s/%s has no ready endpoint, and %d that are not ready", service.Namespace, service.Name, other).
			hint("kubectl -n %s get pods -l dogear.dev/component=webhook: a Pod is ready when it has a certificate and knows the sets; its log says what it waits for", service.Namespace)
	}
	return passed("Service %s/%s has %d ready", service.Namespace, service.Name, ready)
}

// service is the one that API servers call.
func (h *hook) service() (*admissionregistrationv1.ServiceReference, Result) {
	clients := h.clients()
	switch {
	case len(clients) > 0 && clients[0].Service != nil:
		return clients[0].Service, Result{}
	case len(clients) > 0:
		return nil, skipped("API servers call a URL")
	case h.place != nil && h.place.settings.service != "":
		return &admissionregistrationv1.ServiceReference{Namespace: h.place.Namespace, Name: h.place.settings.service}, Result{}
	}
	return nil, skipped("no webhook is published")
}
