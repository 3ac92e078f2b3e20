package check

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		if fault, wrong := r.unwanted(ctx); wrong {
			return fault
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
	return passed("%s", sentTo(h.mutating))
}

// unwanted looks at a configuration that is there though the installation has no
// webhook. That of an installation which is confined to some namespaces may be
// another's, unless it leads to here: then this one was in the whole cluster.
func (r *round) unwanted(ctx context.Context) (fault Result, wrong bool) {
	h := &hook{}
	p, err := r.place(ctx)
	if err == nil {
		h.mutating, err = r.mutatingConfiguration(ctx)
	}
	if err == nil {
		h.validating, err = r.validatingConfiguration(ctx)
	}
	if err != nil {
		return Result{}, false
	}
	if !p.confined() {
		if h.mutating == nil && h.validating == nil {
			return Result{}, false
		}
		return warned("%s is there, though this installation has no webhook", r.prefix).
			hint("it is left of an earlier time: kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration %s", r.prefix), true
	}
	for _, client := range h.clients() {
		if client.Service != nil && client.Service.Namespace == p.Namespace {
			return failed("%s leads to namespace %s, though this installation works in %s alone: it was in the whole cluster, and nobody releases what it holds elsewhere",
				r.prefix, p.Namespace, strings.Join(p.settings.namespaces, ", ")).
				hint("helm upgrade with namespaced.enabled=false and no namespaces; to confine it, uninstall it then, and install it anew"), true
		}
	}
	return Result{}, false
}

// sentTo says how much is sent to the webhook. A resource may have two webhooks in
// the configuration, one of them for its subresources.
func sentTo(c *mutating) string {
	return fmt.Sprintf("%s: %s", c.Name, count(len(ruledIn(c)), "resource"))
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
