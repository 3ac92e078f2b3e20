package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/webhook/cert"
)

type (
	mutating   = admissionregistrationv1.MutatingWebhookConfiguration
	validating = admissionregistrationv1.ValidatingWebhookConfiguration
)

func (r *round) webhookChecks() []Check {
	checks := []Check{
		{Group: "webhook", Name: "configurations", Link: "a-webhook-configuration-is-missing", Run: r.configurations},
		{Group: "webhook", Name: "CA bundle", Link: "the-ca-bundle-is-wrong", Run: r.caBundle},
		{Group: "webhook", Name: "endpoints", Link: "the-webhook-has-no-endpoints", Run: r.serviceEndpoints},
		{Group: "webhook", Name: "certificate", Link: "the-certificate-is-wrong", Run: r.certificate},
	}
	if r.options.Domain == "" {
		checks = append(checks,
			Check{Group: "webhook", Name: "rules", Link: "the-rules-are-not-those-of-the-sets", Run: r.rules},
			Check{Group: "webhook", Name: "refuses a wrong set", Link: "the-webhook-is-not-called", Run: r.refusesWrongSet},
		)
	}
	return append(checks, Check{Group: "webhook", Name: "stamps", Link: "the-webhook-is-not-called", Run: r.stamps})
}

// mutatingConfiguration is that of Dogear; nil: there is none.
func (r *round) mutatingConfiguration(ctx context.Context) (*mutating, error) {
	return r.mutating.get(func() (*mutating, error) {
		c := &mutating{}
		err := r.client.Get(ctx, client.ObjectKey{Name: string(r.prefix)}, c)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return c, err
	})
}

// validatingConfiguration is that of Dogear; nil: there is none.
func (r *round) validatingConfiguration(ctx context.Context) (*validating, error) {
	return r.validating.get(func() (*validating, error) {
		c := &validating{}
		err := r.client.Get(ctx, client.ObjectKey{Name: string(r.prefix)}, c)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return c, err
	})
}

// hook is what is known of the webhook: what is published, less what is missing.
type hook struct {
	place      *place // nil: it is not known where it is
	mutating   *mutating
	validating *validating
}

// hook tells whether the installation has a webhook. Without one, or where that
// cannot be known, the result says so.
func (r *round) hook(ctx context.Context) (*hook, Result) {
	h := &hook{}
	var err error
	if h.mutating, err = r.mutatingConfiguration(ctx); err != nil {
		return nil, r.unread(err)
	}
	if h.validating, err = r.validatingConfiguration(ctx); err != nil {
		return nil, r.unread(err)
	}
	there := h.mutating != nil || h.validating != nil
	if h.place, err = r.place(ctx); err != nil {
		h.place = nil
		if there {
			return h, Result{}
		}
		return nil, r.unread(err)
	}
	switch {
	case h.place.unset == nil && h.place.settings.hasWebhook(), h.place.Webhook() != nil, there && h.place.unset != nil:
		return h, Result{}
	case h.place.unset == nil:
		return nil, skipped("this installation has no webhook (webhook.service, webhook.url)")
	}
	return nil, skipped("there is no sign of a webhook, and the settings are not known: %s", h.place.unset)
}

func (r *round) configurations(ctx context.Context) Result {
	h, none := r.hook(ctx)
	if h == nil {
		p, err := r.place(ctx)
		if c, unread := r.mutatingConfiguration(ctx); err == nil && unread == nil && c != nil && !p.confined() {
			return warned("%s is there, though this installation has no webhook", c.Name).
				hint("it is left of an earlier time: kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration %s", c.Name)
		}
		return none
	}
	var missing []string
	if h.mutating == nil {
		missing = append(missing, "the MutatingWebhookConfiguration "+string(r.prefix))
	}
	if h.validating == nil && r.options.Domain == "" {
		missing = append(missing, "the ValidatingWebhookConfiguration "+string(r.prefix))
	}
	if len(missing) > 0 {
		return failed("not there: %s", strings.Join(missing, " and ")).
			hint("the controller makes them, and again a minute after they were deleted: see whether it runs, and its log for why it can't; " +
				"until then objects pass unstamped, and defaults are not filled in")
	}
	return passed("%s: %s", h.mutating.Name, count(len(h.mutating.Webhooks), "resource"))
}

// clients are the ways in which API servers call the webhook.
func (h *hook) clients() (all []*admissionregistrationv1.WebhookClientConfig) {
	if h.mutating != nil {
		for i := range h.mutating.Webhooks {
			all = append(all, &h.mutating.Webhooks[i].ClientConfig)
		}
	}
	if h.validating != nil {
		for i := range h.validating.Webhooks {
			all = append(all, &h.validating.Webhooks[i].ClientConfig)
		}
	}
	return all
}

// newBundle is what to do about a CA bundle that cannot be right.
func (h *hook) newBundle() string {
	if h.place != nil && h.place.settings.injected {
		return "cert-manager's CA injector keeps it: see whether cainjector runs, and 'kubectl describe certificate' of the webhook"
	}
	return "the controller puts it right within a minute: see whether it runs, and its log; " +
		"with a certificate of your own, see that ca.crt is the authority of tls.crt"
}

func (r *round) caBundle(ctx context.Context) Result {
	h, none := r.hook(ctx)
	if h == nil {
		return none
	}
	clients := h.clients()
	if len(clients) == 0 {
		return skipped("no webhook is published")
	}
	for _, c := range clients {
		if len(c.CABundle) == 0 {
			return failed("it is empty: API servers trust no certificate of the webhook, and every object passes unstamped").hint("%s", h.newBundle())
		}
		if _, err := cert.ParseCABundle(c.CABundle); err != nil {
			return failed("it cannot be read: %s", err).hint("%s", h.newBundle())
		}
		if !bytes.Equal(c.CABundle, clients[0].CABundle) {
			return warned("not all webhooks have the same").hint("%s", h.newBundle())
		}
	}
	authorities, _ := cert.ParseCABundle(clients[0].CABundle) // it was parsed a moment ago
	newest := slices.MaxFunc(authorities, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	return r.dates("the authority", newest, h.newBundle())
}

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

// ruledIn are the resources that a configuration has rules for, in order.
func ruledIn(c *mutating) (all []schema.GroupVersionResource) {
	for i := range c.Webhooks {
		for _, rule := range c.Webhooks[i].Rules {
			for _, group := range rule.APIGroups {
				for _, version := range rule.APIVersions {
					for _, name := range rule.Resources {
						if !strings.Contains(name, "/") {
							all = append(all, schema.GroupVersionResource{Group: group, Version: version, Resource: name})
						}
					}
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionResource) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// rules compares what is sent to the webhook with what sets declare.
func (r *round) rules(ctx context.Context) Result {
	h, none := r.hook(ctx)
	if h == nil {
		return none
	}
	if h.mutating == nil {
		return skipped("there is no MutatingWebhookConfiguration")
	}
	declared, err := r.declared(ctx)
	if err != nil {
		return r.unread(err)
	}
	have := map[schema.GroupResource]bool{}
	for _, name := range ruledIn(h.mutating) {
		have[name.GroupResource()] = true
	}
	var missing, texts []string
	for _, res := range declared {
		if !have[res.name.GroupResource()] && len(res.active()) > 0 {
			missing = append(missing, fmt.Sprintf("%s, which %s declares", res, nameOf(res.active()[0])))
		}
		delete(have, res.name.GroupResource())
	}
	for name := range have {
		texts = append(texts, name.String())
	}
	switch {
	case len(missing) > 0:
		return failed("not sent to the webhook: %s", count(len(missing), "resource")).about(missing...).
			hint("the controller puts the rules right within a minute: see its log")
	case len(texts) > 0:
		slices.Sort(texts)
		return warned("resources are sent to the webhook that no set declares").about(texts...).
			hint("the controller takes them out within a minute: see whether it runs, and its log")
	case len(declared) == 0:
		return skipped("no set declares a resource")
	}
	return passed("those of the sets: %s", names(declared))
}
