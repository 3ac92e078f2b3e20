package check

import (
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
)

// base are the rights that the controller needs, whatever sets declare.
func (p *place) base() (all []sets.Right) {
	add := func(n sets.Right, verbs ...string) { all = append(all, n.To(verbs...)...) }
	group := "dogear.dev"
	if p.confined() {
		for _, namespace := range p.settings.namespaces {
			add(sets.Right{Group: group, Resource: "handlersets", Namespace: namespace}, "list", "watch", "patch")
			add(sets.Right{Group: group, Resource: "handlersets", Subresource: "status", Namespace: namespace}, "patch")
			add(sets.Right{Group: "events.k8s.io", Resource: "events", Namespace: namespace}, "create", "patch")
		}
	} else {
		for _, resource := range []string{"clusterhandlersets", "handlersets"} {
			add(sets.Right{Group: group, Resource: resource}, "list", "watch", "patch")
			add(sets.Right{Group: group, Resource: resource, Subresource: "status"}, "patch")
		}
		add(sets.Right{Resource: "namespaces"}, "list", "watch")
		add(sets.Right{Group: "events.k8s.io", Resource: "events"}, "create", "patch")
	}
	own := func(group, resource, name string) {
		add(sets.Right{Group: group, Resource: resource, Namespace: p.Namespace}, "create")
		add(sets.Right{Group: group, Resource: resource, Name: name, Namespace: p.Namespace}, "get", "update")
	}
	own("", "configmaps", installation.Name)
	if p.settings.leaderElect {
		own("coordination.k8s.io", "leases", installation.Name)
	}
	if p.settings.hasWebhook() || p.unset != nil && p.Webhook() != nil {
		for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
			add(sets.Right{Group: "admissionregistration.k8s.io", Resource: resource}, "create")
			add(sets.Right{Group: "admissionregistration.k8s.io", Resource: resource, Name: installation.Name}, "get", "patch")
		}
		if p.settings.certificateDir == "" {
			own("", "secrets", p.secretOf(installation.Name))
		}
	}
	if p.settings.callback {
		add(sets.Right{Resource: "secrets", Namespace: p.Namespace}, "create")
		add(sets.Right{Resource: "secrets", Name: installation.Name + "-callback-tokens", Namespace: p.Namespace}, "get")
		if p.settings.callbackDir == "" {
			own("", "secrets", installation.Name+"-callback")
		}
	}
	return all
}
