package check

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"
)

func (r *round) certificate(ctx context.Context) Result {
	h, none := r.hook(ctx)
	if h == nil {
		return none
	}
	if fault, wrong := r.keptWrong(ctx, h); wrong {
		return fault
	}
	clients := h.clients()
	if len(clients) == 0 {
		return skipped("no webhook is published")
	}
	host, address, err := r.address(ctx, clients[0])
	if err != nil {
		return r.unread(err)
	}
	found, err := r.serving(ctx, h, clients[0], host, address)
	if err != nil {
		return skipped("it cannot be seen from here: %s", err).hint("%s", r.elsewhere())
	}
	leaf := found.chain[0]
	if found.dialed && !inCluster(r.options.Config) && leaf.VerifyHostname(host) != nil {
		return skipped("who answers at %s has a certificate of another name: from here it may be somebody else", address).hint("%s", r.elsewhere())
	}
	for _, c := range clients {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.CABundle)
		intermediates := x509.NewCertPool()
		for _, other := range found.chain[1:] {
			intermediates.AddCert(other)
		}
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, DNSName: host, CurrentTime: middle(leaf)})
		if err != nil {
			return failed("API servers do not trust it (%s): %s", found.from, err).hint("%s", h.newBundle())
		}
	}
	return r.dates("it ("+found.from+")", leaf, h.newCertificate())
}

// elsewhere is what to do where the certificate can be seen neither at the webhook
// nor where it is kept.
func (r *round) elsewhere() string {
	if inCluster(r.options.Config) {
		return "this Pod gets no answer of the webhook, while API servers may: let it through a NetworkPolicy or a service mesh that is in between, " +
			"or ask as somebody who may read the Secret"
	}
	return "run 'helm test', which checks from within the cluster"
}

// middle is a time at which a certificate is good: that it is good now is
// judged apart, in other words.
func middle(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 2)
}

func (h *hook) newCertificate() string {
	switch {
	case h.place == nil || h.place.unset != nil:
		return "see who renews it, and the log of the controller"
	case h.place.settings.injected:
		return "cert-manager renews it: 'kubectl describe certificate' of the webhook says why it has not"
	case h.place.settings.certificateDir != "":
		return "put a new one into the Secret of the webhook: it is taken up without a restart"
	}
	return "the controller renews it when two thirds of its time are over: see whether it runs, and its log"
}

// dates judges the time of a certificate.
func (r *round) dates(what string, c *x509.Certificate, hint string) Result {
	now := r.options.Clock.Now()
	left, life := c.NotAfter.Sub(now), c.NotAfter.Sub(c.NotBefore)
	at := c.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case now.Before(c.NotBefore):
		return failed("%s begins at %s only", what, c.NotBefore.UTC().Format(time.RFC3339)).hint("compare the clocks of this machine and of the cluster")
	case left <= 0:
		return failed("%s expired at %s", what, at).hint("%s", hint)
	case left < life/6:
		return warned("%s expires at %s, in %s, and should have been renewed", what, at, span(left)).hint("%s", hint)
	}
	return passed("%s is good until %s, %s from now", what, at, span(left))
}

// span is a time in words that are short: 6d3h, 5h12m, 40s.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
