package check

import (
	"bytes"
	"context"
	"crypto/x509"
	"slices"

	"github.com/dogear-dev/dogear/webhook/cert"
)

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
			return failed("it is empty: API servers trust no certificate of the webhook, and every object passes unstamped, or is refused with failurePolicy Fail").hint("%s", h.newBundle())
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
