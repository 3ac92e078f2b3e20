package config

import "strings"

// entry is one setting: its name in the file (a path with a dot for each
// level), what it means, and where its value is.
type entry struct {
	path, usage string
	value       value
}

// entries are all settings, in the order in which they are printed. Those of
// one level stand together.
func (s *Settings) entries() []entry {
	return []entry{
		{"roles", "what this process does: controller, webhook or both; default: controller, and webhook where the installation has one", list(&s.Roles)},
		{"namespace", "where the Lease, the ledger and the certificates are; default: the Pod's namespace, else \"default\"", text(&s.Namespace)},
		{"namespaces", "the only namespaces to work in, for an installation without rights elsewhere: HandlerSets there, no ClusterHandlerSets; none: the whole cluster", list(&s.Namespaces)},
		{"uninstallAccount", "the ServiceAccount in the namespace that removes the installation, which HandlerSets ask rights for in their namespaces as for the controller; default: X-uninstall beside X-controller", text(&s.UninstallAccount)},
		{"workers", "the number of objects of one resource that are handled at the same time", number(&s.Workers)},
		{"gracePeriod", "how long calls under way may take to end, and writes, after the process was told to stop; calls are broken off 5s before the end, and made again by the next process", span(&s.GracePeriod)},
		{"budget.marker", "bytes of annotations on one object, at most", number(&s.Budget.Marker)},
		{"budget.payload", "bytes of one handler's payload in an annotation, at most", number(&s.Budget.Payload)},

		{"leaderElect", "have replicas take turns, by a Lease", yes(&s.LeaderElect)},
		{"leaseDuration", "how long a leader that has gone silent keeps the Lease", span(&s.LeaseDuration)},
		{"renewDeadline", "how long a leader tries to renew the Lease before it gives up", span(&s.RenewDeadline)},
		{"retryPeriod", "the time between two tries for the Lease", span(&s.RetryPeriod)},

		{"metricsAddress", "where /metrics is served; \"\": nowhere", text(&s.MetricsAddress)},
		{"healthAddress", "where /healthz and /readyz are served; \"\": nowhere", text(&s.HealthAddress)},
		{"ignoreAnnotations", "further annotations whose change wakes no handler: whole keys, or prefixes that end in *", list(&s.IgnoreAnnotations)},

		{"namespacedResources", "resources that a HandlerSet may name: certificates.cert-manager.io or cert-manager.io/certificates, " +
			"*.cert-manager.io for all of a group, *.* for all of all groups but the core group, services for one of the core group", list(&s.NamespacedResources)},
		{"allowSecrets", "let sets handle Secrets; without their values, unless a handler asks for them", yes(&s.AllowSecrets)},
		{"urlPrefixes", "what the URLs of endpoints may begin with, such as https://hooks.example.com/dogear; none: sets may name Services only", list(&s.URLPrefixes)},
		{"allowedNetworks", "private addresses that URLs may lead to, such as 10.1.0.0/16", list(&s.AllowedNetworks)},
		{"deniedNetworks", "addresses that no endpoint may have, such as those of the API server, Services included", list(&s.DeniedNetworks)},
		{"allowLoopback", "let URLs lead to this very host: for tests and demos only", yes(&s.AllowLoopback)},

		{"webhook.address", "where admission is served", text(&s.Webhook.Address)},
		{"webhook.service", "the Service in the namespace that leads there; neither service nor url: the installation has no webhook", text(&s.Webhook.Service)},
		{"webhook.servicePort", "the port of that Service", number(&s.Webhook.ServicePort)},
		{"webhook.url", "how API servers reach a webhook outside of the cluster, instead of the Service: https://host:port", text(&s.Webhook.URL)},
		{"webhook.certificateDir", "folder with tls.crt, tls.key and ca.crt; default: certificates of an own CA, kept in a Secret and rotated", text(&s.Webhook.CertificateDir)},
		{"webhook.secret", "the name of that Secret; default: dogear.dev-webhook", text(&s.Webhook.Secret)},
		{"webhook.injectCAFrom", "namespace/name of the cert-manager Certificate in certificateDir: its CA injector keeps the webhook's CA bundle then", text(&s.Webhook.InjectCAFrom)},
		{"webhook.controllerUsers", "users whose writes pass untouched: those that the controller runs as, where it runs apart from the webhook", list(&s.Webhook.ControllerUsers)},
		{"webhook.fail", "refuse objects of users while no webhook answers", yes(&s.Webhook.Fail)},
		{"webhook.timeout", "how long API servers wait for the webhook, from 1s to 30s", span(&s.Webhook.Timeout)},
		{"webhook.lameDuck", "how long the webhook goes on answering after it was told to stop", span(&s.Webhook.LameDuck)},

		{"callback.address", "where endpoints may send outcomes later, such as :9444; \"\": they may not", text(&s.Callback.Address)},
		{"callback.service", "the Service in the namespace that leads there", text(&s.Callback.Service)},
		{"callback.servicePort", "the port of that Service", number(&s.Callback.ServicePort)},
		{"callback.url", "how endpoints reach it, instead of the Service: https://host:port/path", text(&s.Callback.URL)},
		{"callback.certificateDir", "folder with tls.crt and tls.key of it; default: a certificate of an own CA, kept in the Secret dogear.dev-callback with the ca.crt that endpoints need", text(&s.Callback.CertificateDir)},

		{"log.level", "debug, info or error", text(&s.Log.Level)},
		{"log.format", "json or console", text(&s.Log.Format)},
	}
}

// Paths are the names of all settings, as in webhook.servicePort.
func Paths() (all []string) {
	for _, e := range new(Settings).entries() {
		all = append(all, e.path)
	}
	return all
}

// FlagName is webhook-service-port for webhook.servicePort.
func FlagName(path string) string {
	upper := func(i int) bool { return i >= 0 && i < len(path) && path[i] >= 'A' && path[i] <= 'Z' }
	var b strings.Builder
	for i := range len(path) {
		switch {
		case path[i] == '.':
			b.WriteByte('-')
			continue
		case upper(i) && !(upper(i-1) && upper(i+1)): // the letters of CA stay together
			b.WriteByte('-')
		}
		b.WriteByte(path[i])
	}
	return strings.ToLower(b.String())
}

// VariableName is DOGEAR_WEBHOOK_SERVICE_PORT for webhook.servicePort.
func VariableName(path string) string {
	return "DOGEAR_" + strings.ToUpper(strings.ReplaceAll(FlagName(path), "-", "_"))
}
