package check

import (
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
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
		return nil, "", skipped("there is no Deployment of the %s: its ServiceAccount is not known, or this installation has none", component)
	}
	if name := d.Spec.Template.Spec.ServiceAccountName; name != "" {
		return p, name, Result{}
	}
	return p, "default", Result{}
}

// judge makes the result of what is missing; mend adds what to do about that.
func (r *round) judge(ctx context.Context, p *place, account string, needed []sets.Right, about string, mend func(Result, []sets.Right) Result) Result {
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
	lacks := failed("ServiceAccount %s/%s lacks %d of the rights that it needs", p.Namespace, account, len(lacking))
	return mend(lacks.about(inWords(lacking)...), lacking)
}

// role is what to do about rights that the chart gives.
func role(lacks Result, _ []sets.Right) Result {
	return lacks.hint("helm upgrade with rbac.create=true, or add what is missing to the role of that account: docs/service.md#rights")
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
	var needed []sets.Right
	for _, n := range []sets.Right{{Group: "dogear.dev", Resource: "clusterhandlersets"}, {Group: "dogear.dev", Resource: "handlersets"}, {Resource: "namespaces"}} {
		needed = append(needed, n.To("list", "watch")...)
	}
	if p.settings.certificateDir == "" {
		needed = append(needed, sets.Right{Resource: "secrets", Name: p.secretOf(installation.Name), Namespace: p.Namespace, Verb: "get"})
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
	var needed []sets.Right
	for _, res := range declared {
		needed = append(needed, r.neededFor(ctx, res)...)
	}
	if len(needed) == 0 {
		return skipped("no set with handlers declares a resource that is served")
	}
	return r.judge(ctx, p, account, needed, "those for "+names(declared), func(lacks Result, lacking []sets.Right) Result {
		return lacks.hint("%s", grant(lacking)).ofSets()
	})
}

// grant is what to do about rights for resources that are missing: for the sets of
// a namespace, a Role there is enough.
func grant(lacking []sets.Right) string {
	missing := map[string][]string{} // by namespace; empty: all
	for _, n := range lacking {
		n.Subresource = ""
		if !slices.Contains(missing[n.Namespace], n.What()) {
			missing[n.Namespace] = append(missing[n.Namespace], n.What())
		}
	}
	var commands []string
	for _, namespace := range slices.Sorted(maps.Keys(missing)) {
		resources := missing[namespace]
		option := ""
		if namespace != "" {
			// A ClusterRole is good for the namespace, too.
			resources = slices.DeleteFunc(resources, func(name string) bool { return slices.Contains(missing[""], name) })
			option = " --namespace-role=" + namespace
		}
		if slices.Sort(resources); len(resources) > 0 {
			commands = append(commands, "dogear rbac "+strings.Join(resources, " ")+option+" | kubectl apply -f -")
		}
	}
	return strings.Join(commands, "\n") + ", or add them to rbac.resources of the chart"
}

func names(all []*resource) string {
	var texts []string
	for _, res := range all {
		texts = append(texts, res.String())
	}
	return some(texts)
}

// neededFor are the rights that the sets of a resource need.
func (r *round) neededFor(ctx context.Context, res *resource) (all []sets.Right) {
	if res.err != nil {
		return nil
	}
	on := sets.Target{Resource: res.name.GroupResource(), Kind: res.kind, Status: res.subresource}
	for _, set := range res.sets {
		if len(set.Declared().Handlers)+len(set.Observed().Handlers) == 0 {
			continue // defaults need none
		}
		all = append(all, sets.ObjectRights(ctx, set, on, r.keepsStatus)...)
	}
	return all
}

func (r *round) endpointRights(ctx context.Context) Result {
	p, account, none := r.account(ctx, installation.ComponentController)
	if p == nil {
		return none
	}
	all, err := r.sets(ctx)
	if err != nil {
		return r.unread(err)
	}
	var needed []sets.Right
	for _, set := range all {
		needed = append(needed, sets.EndpointRights(set)...)
	}
	if len(needed) == 0 {
		return skipped("no set names a Service or a Secret")
	}
	return r.judge(ctx, p, account, needed, "those for the Services and Secrets of endpoints", func(lacks Result, _ []sets.Right) Result {
		return lacks.hint("add Secrets to rbac.endpointSecrets of the chart, and Services to rbac.endpointServices, or give the ServiceAccount get by a Role in their namespace").ofSets()
	})
}

// inWords joins the verbs of rights for the same.
func inWords(rights []sets.Right) (texts []string) {
	for i := 0; i < len(rights); {
		n := rights[i]
		verbs := []string{}
		for ; i < len(rights) && rights[i].To("")[0] == n.To("")[0]; i++ {
			verbs = append(verbs, rights[i].Verb)
		}
		n.Verb = strings.Join(verbs, ", ")
		texts = append(texts, n.String())
	}
	return texts
}
