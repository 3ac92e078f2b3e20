package check

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/answer"
	"github.com/dogear-dev/dogear/storage"
)

const failOpen = "see what the other checks of this group say; if they are all well, something is between the API server and the webhook: a NetworkPolicy, a firewall " +
	"(private clusters let API servers reach some ports only), a proxy. The API server's log says why, and counts: " +
	"kubectl get --raw /metrics | grep fail_open_count"

// refusesWrongSet has the API server ask about a set that the webhook must
// refuse. It takes no rights but for sets, and no object of users.
func (r *round) refusesWrongSet(ctx context.Context) Result {
	h, none := r.hook(ctx)
	if h == nil {
		return none
	}
	if h.validating == nil {
		return skipped("there is no ValidatingWebhookConfiguration")
	}
	if h.place == nil {
		return skipped("it is not known where Dogear is")
	}
	wrong := &v1alpha1.HandlerSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.place.Namespace, Name: probeName()},
		Spec: v1alpha1.HandlerSetSpec{
			Resource: v1alpha1.Resource{Group: "check.dogear.dev", Version: "v1", Resource: "nothings"},
			Match:    &v1alpha1.Match{Conditions: []v1alpha1.Condition{{Name: "wrong", Expression: "this is no expression"}}},
			Defaults: &v1alpha1.Defaults{Computed: []v1alpha1.ComputedDefault{{Path: "spec.nothing", Expression: "'nothing'"}}},
		},
	}
	err := r.client.Create(ctx, wrong, client.DryRunAll)
	switch {
	case err == nil:
		return failed("a set that the webhook must refuse has passed: it was not called, or has not answered in time").hint("%s", failOpen)
	case refusedBy(err, h.validating.Webhooks):
		return passed("by a dry run")
	case apierrors.IsForbidden(err):
		return skipped("%s", err).hint("ask as somebody who may create handlersets.dogear.dev in that namespace: nothing is created, but a dry run takes the right")
	case apierrors.IsInternalError(err):
		return failed("%s", err).hint("%s", failOpen)
	}
	return skipped("the API server refused the set before it asked the webhook: %s", err)
}

// refusedBy tells whether a webhook of ours has refused.
func refusedBy(err error, webhooks []admissionregistrationv1.ValidatingWebhook) bool {
	return slices.ContainsFunc(webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return strings.Contains(err.Error(), fmt.Sprintf("admission webhook %q denied", w.Name))
	})
}

// probeName is the name of an object that is never stored.
func probeName() string { return "dogear-check-" + rand.String(8) }

// stamps has the API server ask about an object of each resource that must come
// back stamped.
func (r *round) stamps(ctx context.Context) Result {
	h, none := r.hook(ctx)
	if h == nil {
		return none
	}
	if h.mutating == nil || len(h.mutating.Webhooks) == 0 {
		return skipped("no resource is sent to the webhook")
	}
	declared, err := r.declared(ctx)
	if err != nil {
		return r.unread(err)
	}
	if user, err := r.user(ctx); err == nil && isOwn(user, h.mutating) {
		return skipped("what %s writes is not sent to the webhook", user).hint("ask as somebody else than the controller's own ServiceAccount")
	}
	var probes []Result
	for _, res := range declared {
		probes = append(probes, r.stampsOn(ctx, h, res))
	}
	return together(probes).withUnused(r.unused(declared))
}

// withUnused adds what was given in vain. Somebody meant it to be tried, so it is
// a warning where nothing worse was found.
func (r Result) withUnused(names []string) Result {
	if len(names) == 0 {
		return r
	}
	r.Message += fmt.Sprintf("; not tried: %s of those that were given", count(len(names), "object"))
	if r.Verdict != Failed {
		r.Verdict = Warning
		r.Hint = "with --object, name objects of resources that sets with handlers declare"
	}
	more := r.More
	r = r.about(append(slices.Clone(names), r.Objects...)...)
	r.More += more
	return r
}

// isOwn tells whether the writes of a user pass the webhook by.
func isOwn(user string, c *mutating) bool {
	for i := range c.Webhooks {
		for _, condition := range c.Webhooks[i].MatchConditions {
			if strings.Contains(condition.Expression, strconv.QuoteToASCII(user)) {
				return true
			}
		}
	}
	return false
}

// together makes one result of those about single resources.
func together(all []Result) Result {
	var (
		first = map[Verdict]Result{}
		n     = map[Verdict]int{}
		texts []string
	)
	slices.SortStableFunc(all, func(a, b Result) int { return weight(b.Verdict) - weight(a.Verdict) })
	for _, r := range all {
		if n[r.Verdict]++; n[r.Verdict] == 1 {
			first[r.Verdict] = r
		}
		texts = append(texts, r.Message)
	}
	switch {
	case len(all) == 0:
		return skipped("no set declares a resource")
	case n[Failed] > 0:
		return failed("objects come back without a stamp: the webhook was not called, or has not answered in time").about(texts...).hint("%s", first[Failed].Hint)
	case n[OK] == 0:
		return skipped("no object could be tried").about(texts...).hint("%s", first[Skipped].Hint)
	case n[Skipped] > 0:
		return passed("objects of %d of %d resources come back stamped", n[OK], len(all)).about(texts...).hint("%s", first[Skipped].Hint)
	}
	return passed("objects come back stamped").about(texts...)
}

func weight(v Verdict) int { return slices.Index([]Verdict{OK, Skipped, Warning, Failed}, v) }

// tries is how many objects of a resource are tried.
const tries = 3

// stampsOn tries objects of one resource, until one is accepted.
func (r *round) stampsOn(ctx context.Context, h *hook, res *resource) Result {
	candidates, why := r.samples(ctx, h, res)
	if len(candidates) == 0 {
		return skipped("%s: %s", res, why).hint("name one with --object FILE, which is created in a dry run alone")
	}
	var last Result
	for _, c := range candidates[:min(len(candidates), tries)] {
		created := c.object.DeepCopy()
		err := r.client.Create(ctx, created, client.DryRunAll)
		switch {
		case err == nil && created.GetAnnotations()[r.prefix.Key(storage.KeyState)] != "":
			return passed("%s: stamped (%s)", res, c.from)
		case err == nil:
			return failed("%s: not stamped (%s)", res, c.from).hint("%s", failOpen)
		}
		if last = outcome(res, c.from, h.mutating, err); last.Verdict == Failed || isPowerless(err) {
			return last
		}
	}
	return last
}

// outcome is the result of a try that was refused.
func outcome(res *resource, from string, ours *mutating, err error) Result {
	switch {
	case calledInVain(err, ours):
		return failed("%s: no webhook of Dogear's answers, and without one it is refused: %s", res, whyNot(err)).hint("%s", failOpen)
	case isPowerless(err):
		return skipped("%s: %s", res, whyNot(err)).hint("ask as somebody who may create it: nothing is created, but a dry run takes the right")
	}
	return skipped("%s: refused by the API server (%s): %s", res, from, whyNot(err)).
		hint("name an object that the API server takes with --object FILE: it is created in a dry run alone")
}

// whyNot says why an object is refused. It may be a copy of a user's, a Secret
// too, so nothing of its values is told: neither what the API server repeats of
// them, nor what webhooks of others say.
func whyNot(err error) string {
	if refusal := answer.Of(err); refusal != nil {
		return refusal.String()
	}
	return "the API server does not answer"
}

// isPowerless tells that the person who asks lacks the right.
func isPowerless(err error) bool {
	refusal := answer.Of(err)
	return refusal != nil && refusal.Missing != ""
}

// calledInVain tells whether the API server refuses an object because a webhook
// of ours does not answer, as it is set to.
func calledInVain(err error, c *mutating) bool {
	return slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool {
		return strings.Contains(err.Error(), fmt.Sprintf("failed calling webhook %q", w.Name))
	})
}

// sample is an object that the webhook has to stamp.
type sample struct {
	object *unstructured.Unstructured
	from   string // where it was taken from
}
