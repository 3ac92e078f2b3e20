package check

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dogear-dev/dogear/controller/installation"
)

func (r *round) rightsChecks() []Check {
	return []Check{
		{Group: "rights", Name: "controller", Link: "the-controller-lacks-rights", Run: r.baseRights},
		{Group: "rights", Name: "webhook", Link: "the-webhook-lacks-rights", Run: r.webhookRights},
		{Group: "rights", Name: "resources", Link: "rights-for-a-resource-are-missing", Run: r.resourceRights},
		{Group: "rights", Name: "endpoints", Link: "rights-for-endpoints-are-missing", Run: r.endpointRights},
	}
}

// account is a ServiceAccount of a component; with none, the result says so.
func (r *round) account(ctx context.Context, component string) (*place, string, Result) {
	p, err := r.place(ctx)
	if err != nil {
		return nil, "", r.unread(err)
	}
	d := p.Controller()
	if component == installation.ComponentWebhook {
		d = p.Webhook()
	}
	if d == nil {
		return nil, "", skipped("there is no Deployment of the %s, so its ServiceAccount is not known", component)
	}
	if name := d.Spec.Template.Spec.ServiceAccountName; name != "" {
		return p, name, Result{}
	}
	return p, "default", Result{}
}

// judge makes the result of what is missing.
func (r *round) judge(ctx context.Context, p *place, account string, needed []right, about string, hint func([]right) string) Result {
	lacking, err := r.missing(ctx, p, account, needed)
	if apierrors.IsForbidden(err) {
		return skipped("rights of others cannot be asked for: %s", err).
			hint("ask as somebody who may create subjectaccessreviews.authorization.k8s.io, or localsubjectaccessreviews where Dogear works in some namespaces alone")
	}
	if err != nil {
		return r.unread(err)
	}
	if len(lacking) == 0 {
		return passed("ServiceAccount %s/%s has %s", p.Namespace, account, about)
	}
	return failed("ServiceAccount %s/%s lacks %d of the rights that it needs", p.Namespace, account, len(lacking)).
		about(inWords(lacking)...).hint("%s", hint(lacking))
}

// role is what to do about rights that the chart gives.
func role([]right) string {
	return "helm upgrade with rbac.create=true, or add what is missing to the role of that account: docs/service.md#rights"
}

func (r *round) baseRights(ctx context.Context) Result {
	p, account, none := r.account(ctx, installation.ComponentController)
	if p == nil {
		return none
	}
	return r.judge(ctx, p, account, p.base(), "its base rights", role)
}

func (r *round) webhookRights(ctx context.Context) Result {
	p, account, none := r.account(ctx, installation.ComponentWebhook)
	if p == nil {
		return none
	}
	var needed []right
	for _, n := range []right{{group: "dogear.dev", resource: "clusterhandlersets"}, {group: "dogear.dev", resource: "handlersets"}, {resource: "namespaces"}} {
		needed = append(needed, n.several("list", "watch")...)
	}
	if p.settings.certificateDir == "" {
		needed = append(needed, right{resource: "secrets", name: p.secretOf(installation.Name), namespace: p.Namespace, verb: "get"})
	}
	return r.judge(ctx, p, account, needed, "its rights", role)
}

func (r *round) resourceRights(ctx context.Context) Result {
	p, account, none := r.account(ctx, installation.ComponentController)
	if p == nil {
		return none
	}
	declared, err := r.declared(ctx)
	if err != nil {
		return r.unread(err)
	}
	var needed []right
	for _, res := range declared {
		needed = append(needed, r.neededFor(ctx, res)...)
	}
	if len(needed) == 0 {
		return skipped("no set with handlers declares a resource that is served")
	}
	return r.judge(ctx, p, account, needed, "those for "+names(declared), p.grant)
}

// grant is what to do about rights for resources that are missing.
func (p *place) grant(lacking []right) string {
	var resources, namespaces []string
	for _, n := range lacking {
		n.subresource = ""
		resources, namespaces = append(resources, n.what()), append(namespaces, n.namespace)
	}
	slices.Sort(resources)
	slices.Sort(namespaces)
	resources, namespaces = slices.Compact(resources), slices.Compact(namespaces)
	command := "dogear rbac " + strings.Join(resources, " ")
	if p.confined() && len(namespaces) > 0 {
		command += " --namespace-role=" + namespaces[0]
		if len(namespaces) > 1 {
			return command + " | kubectl apply -f -, and the same for " + strings.Join(namespaces[1:], ", ") + "; or add them to rbac.resources of the chart"
		}
	}
	return command + " | kubectl apply -f -, or add them to rbac.resources of the chart"
}

func names(all []*resource) string {
	var texts []string
	for _, res := range all {
		texts = append(texts, res.String())
	}
	return some(texts)
}

// neededFor are the rights that the sets of a resource need.
func (r *round) neededFor(ctx context.Context, res *resource) (all []right) {
	if res.err != nil {
		return nil
	}
	n := right{group: res.name.Group, resource: res.name.Resource}
	for _, set := range res.sets {
		if len(set.Declared().Handlers)+len(set.Observed().Handlers) == 0 {
			continue // defaults need none
		}
		n.namespace, n.subresource = set.GetNamespace(), ""
		all = append(all, n.several("get", "list", "watch", "patch")...)
		if set.GetDeletionTimestamp() == nil && res.subresource && r.writesStatus(ctx, res, set) {
			n.subresource = "status"
			all = append(all, n.several("patch")...)
		}
	}
	return all
}

func (r *round) endpointRights(ctx context.Context) Result {
	p, account, none := r.account(ctx, installation.ComponentController)
	if p == nil {
		return none
	}
	sets, err := r.sets(ctx)
	if err != nil {
		return r.unread(err)
	}
	var needed []right
	for _, set := range sets {
		needed = append(needed, endpointsOf(set)...)
	}
	if len(needed) == 0 {
		return skipped("no set names a Service or a Secret")
	}
	return r.judge(ctx, p, account, needed, "those for the Services and Secrets of endpoints", func([]right) string {
		return "add Secrets to rbac.endpointSecrets of the chart, and Services to rbac.endpointServices, or give the ServiceAccount get by a Role in their namespace"
	})
}
