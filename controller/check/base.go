package check

import "github.com/dogear-dev/dogear/controller/installation"

// base are the rights that the controller needs, whatever sets declare.
func (p *place) base() (all []right) {
	add := func(n right, verbs ...string) { all = append(all, n.several(verbs...)...) }
	group := "dogear.dev"
	if p.confined() {
		for _, namespace := range p.settings.namespaces {
			add(right{group: group, resource: "handlersets", namespace: namespace}, "list", "watch", "patch")
			add(right{group: group, resource: "handlersets", subresource: "status", namespace: namespace}, "patch")
			add(right{group: "events.k8s.io", resource: "events", namespace: namespace}, "create", "patch")
		}
	} else {
		for _, resource := range []string{"clusterhandlersets", "handlersets"} {
			add(right{group: group, resource: resource}, "list", "watch", "patch")
			add(right{group: group, resource: resource, subresource: "status"}, "patch")
		}
		add(right{resource: "namespaces"}, "list", "watch")
		add(right{group: "events.k8s.io", resource: "events"}, "create", "patch")
	}
	own := func(group, resource, name string) {
		add(right{group: group, resource: resource, namespace: p.Namespace}, "create")
		add(right{group: group, resource: resource, name: name, namespace: p.Namespace}, "get", "update")
	}
	own("", "configmaps", installation.Name)
	if p.settings.leaderElect {
		own("coordination.k8s.io", "leases", installation.Name)
	}
	if p.settings.hasWebhook() || p.unset != nil && p.Webhook() != nil {
		for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
			add(right{group: "admissionregistration.k8s.io", resource: resource}, "create")
			add(right{group: "admissionregistration.k8s.io", resource: resource, name: installation.Name}, "get", "patch")
		}
		if p.settings.certificateDir == "" {
			own("", "secrets", p.secretOf(installation.Name))
		}
	}
	if p.settings.callback {
		add(right{resource: "secrets", namespace: p.Namespace}, "create")
		add(right{resource: "secrets", name: installation.Name + "-callback-tokens", namespace: p.Namespace}, "get")
		if p.settings.callbackDir == "" {
			own("", "secrets", installation.Name+"-callback")
		}
	}
	return all
}
