package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
