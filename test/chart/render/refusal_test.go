package render

import (
	"strings"
	"testing"
)

// What helm must refuse, and what it must say. Those above the line are refused
// by the schema, those below by the templates.
var refusals = []struct{ name, set, want string }{
	{"an unknown key", "replicas=2", "additional properties 'replicas' not allowed"},
	{"an unknown key below", "webhook.certificate.issuer=x", "at '/webhook/certificate': additional properties 'issuer' not allowed"},
	{"an unknown key of a setting", "settings.worker=2", "at '/settings': additional properties 'worker' not allowed"},
	{"an unknown key in a list", "rbac.resources[0].group=,rbac.resources[0].resource=services,rbac.resources[0].verbs=get", "at '/rbac/resources/0': additional properties 'verbs' not allowed"},
	{"a key that is missing in a list", "rbac.resources[0].group=apps", "at '/rbac/resources/0': missing property 'resource'"},
	{"a text for a number", "webhook.replicas=two", "at '/webhook/replicas': got string, want null or integer"},
	{"a number for a text", "image.tag=1", "at '/image/tag': got number, want null or string"},
	{"a number that is too great", "settings.workers=2000", "at '/settings/workers': maximum: got 2,000, want 1,024"},
	{"a port that is none", "healthPort=70000", "at '/healthPort': maximum: got 70,000, want 65,535"},
	{"a word that is none", "webhook.failurePolicy=Deny", "at '/webhook/failurePolicy': value must be one of 'Ignore', 'Fail'"},
	{"a mode that is none", "webhook.certificate.mode=acme", "at '/webhook/certificate/mode': value must be one of 'builtin', 'cert-manager', 'secret'"},
	{"a duration without a unit", "settings.gracePeriod=30x", "at '/settings/gracePeriod': '30x' does not match pattern"},
	{"a digest that is none", "image.digest=latest", "at '/image/digest': 'latest' does not match pattern"},
	{"every resource", "rbac.resources[0].group=,rbac.resources[0].resource=*", "at '/rbac/resources/0/resource': '*' does not match pattern"},
	{"every group", "rbac.resources[0].group=*,rbac.resources[0].resource=services", "at '/rbac/resources/0/group': '*' does not match pattern"},
	{"an alert that is none", "metrics.prometheusRule.disabled={DogearUp}", "at '/metrics/prometheusRule/disabled/0': value must be one of"},
	{"a strategy that is none", "webhook.strategy.type=Foo", "at '/webhook/strategy/type': value must be one of 'RollingUpdate', 'Recreate'"},
	{"the controller's, too", "controller.strategy.type=Foo", "at '/controller/strategy/type': value must be one of 'RollingUpdate', 'Recreate'"},
	{"an empty duration", "settings.gracePeriod=", "at '/settings/gracePeriod': minLength: got 0, want 1"},
	{"parts of seconds", "webhook.timeout=1.5s", "at '/webhook/timeout': '1.5s' does not match pattern"},
	{"an interval without a unit", "metrics.serviceMonitor.interval=30", "at '/metrics/serviceMonitor/interval': got number, want null or string"},
	{"an interval that is none", "metrics.podMonitor.interval=often", "at '/metrics/podMonitor/interval': 'often' does not match pattern"},
	{"an account that is none", "controller.serviceAccount.name=Dogear", "at '/controller/serviceAccount/name': 'Dogear' does not match pattern"},
	{"a share of nothing", "flowControl.nominalConcurrencyShares=0", "at '/flowControl/nominalConcurrencyShares': minimum: got 0, want 1"},
	{"a URL without TLS", "webhook.url=http://example.com", "at '/webhook/url': 'http://example.com' does not match pattern"},

	{"a webhook in namespaces", "namespaced.enabled=true,webhook.enabled=true", "webhook.enabled: a namespaced installation has no webhook, whose configuration is for the whole cluster: leave it at auto, or set namespaced.enabled to false"},
	{"namespaces of the whole cluster", "namespaced.namespaces={a}", "namespaced.namespaces: it counts in a namespaced installation only"},
	{"a migration in namespaces", "namespaced.enabled=true,crds.migrate=true", "crds.migrate: it needs rights for the whole cluster"},
	{"Secrets elsewhere", "namespaced.enabled=true,rbac.endpointSecrets[0].namespace=b", `rbac.endpointSecrets: namespace "b" is none of namespaced.namespaces (dogear)`},
	{"a name of no Service", "fullnameOverride=1st", `fullnameOverride: Services cannot be called "1st"`},
	{"both shares of a budget", "webhook.podDisruptionBudget.minAvailable=0,webhook.podDisruptionBudget.maxUnavailable=50%", "webhook.podDisruptionBudget: minAvailable and maxUnavailable are set: set one of them"},
	{"a Secret without a name", "webhook.certificate.mode=secret", "webhook.certificate.secretName: mode secret needs it"},
	{"a Secret for nothing", "webhook.certificate.secretName=x", "webhook.certificate.secretName: mode builtin makes its own"},
	{"a CA for nothing", "webhook.certificate.caBundle=x", "webhook.certificate.caBundle: it is for mode secret, and the mode is builtin"},
	{"a CA that is none", "webhook.certificate.mode=secret,webhook.certificate.secretName=x,webhook.certificate.caBundle=LS0tLS1C", "webhook.certificate.caBundle: no certificate is in it: give PEM"},
	{"an Issuer for nothing", "webhook.certificate.issuerRef.name=x", "webhook.certificate.issuerRef: it is for mode cert-manager"},
	{"a renewal before the beginning", "webhook.certificate.mode=cert-manager,webhook.certificate.duration=24h", "webhook.certificate.renewBefore: 720h is not less than webhook.certificate.duration, which is 24h"},
	{"fewer Pods at most than at least", "webhook.autoscaling.enabled=true,webhook.autoscaling.maxReplicas=1", "webhook.autoscaling.minReplicas: 2 is more than maxReplicas, which is 1"},
	{"nothing to scale by", "webhook.autoscaling.enabled=true,webhook.autoscaling.targetCPUUtilizationPercentage=null", "webhook.autoscaling: nothing to scale by"},
	{"a strategy of both kinds", "webhook.strategy.type=Recreate,webhook.strategy.rollingUpdate.maxSurge=1", "webhook.strategy.rollingUpdate: the type is Recreate"},
	{"a strategy that stands still", "controller.strategy.rollingUpdate.maxSurge=0,controller.strategy.rollingUpdate.maxUnavailable=0%", "controller.strategy.rollingUpdate: with maxSurge and maxUnavailable 0 no Pod can be replaced"},
	{"the controller's port twice", "callback.enabled=true,callback.port=8081", "callback.port: 8081 is healthPort, too"},
	{"a port of both Pods twice", "metrics.port=8081", "healthPort: 8081 is metrics.port, too"},
	{"a port twice", "webhook.port=8080", "webhook.port: 8080 is metrics.port, too"},
	{"a short lease", "settings.leaseDuration=10s", "settings.leaseDuration: 10s is not more than settings.renewDeadline, which is 10s"},
	{"a short deadline", "settings.retryPeriod=10s", "settings.renewDeadline: 10s is not more than 1.2 times settings.retryPeriod, which is 10s"},
	{"a payload without room", "settings.budget.payload=70000", "settings.budget.payload: 70000 bytes are more than settings.budget.marker, which is 65536"},
	{"patience without end", "webhook.timeout=1m", "webhook.timeout: 1m: want 1s to 30s"},
	{"no patience", "webhook.timeout=0s", "webhook.timeout: 0s: want 1s to 30s"},
	{"tries without a pause", "settings.retryPeriod=0s", "settings.retryPeriod: 0s: want 1s to 60s"},
	{"a lease without end", "settings.leaseDuration=2h", "settings.leaseDuration: 2h: want 1s to 3600s"},
	{"grace without end", "settings.gracePeriod=2h", "settings.gracePeriod: 2h: want 0s to 3600s"},
	{"no time to uninstall", "uninstall.timeout=0s", "uninstall.timeout: 0s: want at least 1s"},
	{"no time to check", "tests.timeout=0s", "tests.timeout: 0s: want at least 1s"},
	{"a short certificate", "webhook.certificate.mode=cert-manager,webhook.certificate.duration=30m,webhook.certificate.renewBefore=5m", "webhook.certificate.duration: 30m: want at least 3600s"},
	{"a network that is none", "settings.allowedNetworks={nonsense}", `settings.allowedNetworks: "nonsense": want a network such as 10.1.0.0/16, or an address`},
	{"a network with too much", "settings.deniedNetworks={10.0.0.1/8}", `settings.deniedNetworks: "10.0.0.1/8": there are bits behind the prefix`},
	{"an address for a network", "networkPolicy.apiServer.cidrs={10.0.0.1}", `networkPolicy.apiServer.cidrs: "10.0.0.1": want a network such as 10.0.0.0/16; a single address is 10.0.0.1/32`},
	{"a fixed port of a Service inside", "webhook.service.nodePort=30443", "webhook.service.nodePort: the type is ClusterIP: set webhook.service.type to NodePort or LoadBalancer"},
	{"a policy of a Service inside", "callback.service.externalTrafficPolicy=Local", "callback.service.externalTrafficPolicy: the type is ClusterIP"},
	{"a class without a load balancer", "webhook.service.type=NodePort,webhook.service.loadBalancerClass=a", "webhook.service.loadBalancerClass: the type is NodePort: set webhook.service.type to LoadBalancer"},
	{"a range without a load balancer", "callback.service.loadBalancerSourceRanges={10.0.0.0/8}", "callback.service.loadBalancerSourceRanges: the type is ClusterIP"},
	{"a range that is none", "webhook.service.type=LoadBalancer,webhook.service.loadBalancerSourceRanges={10.0.0.1}", `webhook.service.loadBalancerSourceRanges: "10.0.0.1": want a network`},
	{"a URL of no host", "settings.urlPrefixes={https://}", `settings.urlPrefixes: "https://": want https://host, or https://host:port/path`},
	{"a URL that climbs", "settings.urlPrefixes={https://a/../b}", `settings.urlPrefixes: "https://a/../b": a segment of its path is a dot or two`},
	{"a star within a key", "settings.ignoreAnnotations={a*b}", `settings.ignoreAnnotations: "a*b": want a whole key, or a prefix that ends in *`},
	{"a resource in capitals", "settings.namespacedResources={Certificates}", `settings.namespacedResources: "Certificates": names of resources and groups have no capitals: want "certificates"`},
	{"all of the core group", "settings.namespacedResources={*}", `settings.namespacedResources: "*": resources of the core group must be named one by one`},
	{"a part of a resource", "settings.namespacedResources={a*.b}", `settings.namespacedResources: "a*.b": want a resource such as certificates.cert-manager.io`},
	{"a refusal by no webhook", "webhook.enabled=false,webhook.failurePolicy=Fail", "webhook.failurePolicy: webhook.enabled is false, so nothing is refused"},
	{"a refusal in namespaces", "namespaced.enabled=true,webhook.failurePolicy=Fail", "webhook.failurePolicy: a namespaced installation has no webhook"},
	{"a scale of no webhook", "webhook.enabled=false,webhook.autoscaling.enabled=true", "webhook.autoscaling.enabled: webhook.enabled is false"},
	{"a certificate of no webhook", "webhook.enabled=false,webhook.certificate.mode=cert-manager", "webhook.certificate.mode: webhook.enabled is false"},
	{"rights without roles", "rbac.create=false,rbac.resources[0].group=,rbac.resources[0].resource=pods", "rbac.resources: rbac.create is false, so no role is made of it"},
	{"Secrets without roles", "rbac.create=false,rbac.endpointSecrets[0].namespace=a", "rbac.endpointSecrets: rbac.create is false"},
	{"all Secrets without roles", "rbac.create=false,rbac.allEndpointSecrets=true", "rbac.allEndpointSecrets: rbac.create is false"},
	{"state that nobody keeps", "uninstall.enabled=false,uninstall.keepState=true", "uninstall.keepState: uninstall.enabled is false, so there is no Job to do it: set that to true, or take this away and run `dogear uninstall --keep-state`"},
	{"markers that nobody removes", "uninstall.enabled=false,uninstall.removeMarkers=true", "uninstall.removeMarkers: uninstall.enabled is false"},
	{"IDs of its own on the node", "hostUsers=false,webhook.hostNetwork=true", "hostUsers: Pods on the nodes' network, which webhook.hostNetwork has, cannot have user IDs of their own"},
	{"the kubelet's port", "webhook.port=10250,webhook.hostNetwork=true", "webhook.port: on the nodes' network, which webhook.hostNetwork has, 10250 is the kubelet's"},
	{"the kubelet's port for metrics", "metrics.port=10250,webhook.hostNetwork=true", "metrics.port: on the nodes' network"},
	{"a URL without a host", "webhook.url=https://:99999 x", "webhook.url: want https://host:port, without user, query and fragment"},
	{"a URL with a port that is none", "webhook.url=https://h:70000/x", "webhook.url: want https://host:port, without user, query and fragment"},
	{"a URL with the port 0", "webhook.url=https://[::1]:0", "webhook.url: want https://host:port, without user, query and fragment"},
	{"a URL with a query", "webhook.url=https://h/x?y=1", "webhook.url: want https://host:port, without user, query and fragment"},
	{"a URL with a user", "webhook.url=https://u@h/x", "webhook.url: want https://host:port, without user, query and fragment"},
	{"a URL with a fragment", "callback.enabled=true,callback.url=https://h/x#y", "callback.url: want https://host:port/path"},
	{"one account for two components", "webhook.serviceAccount.name=dogear-controller", "webhook.serviceAccount.name: dogear-controller is controller.serviceAccount.name, too, and would have the rights of both"},
	{"one account for two hooks", "hooks.serviceAccount.check=dogear-uninstall", "hooks.serviceAccount.check: dogear-uninstall is hooks.serviceAccount.uninstall, too"},
	{"names that are looked up nowhere", "hooks.dnsPolicy=None", "hooks.dnsPolicy: with None names are looked up nowhere: set hooks.dnsConfig.nameservers"},
	{"a share of the API server in namespaces", "namespaced.enabled=true,flowControl.enabled=true", "flowControl.enabled: what it makes is of the whole cluster"},
	{"a duck that walks on", "webhook.lameDuck=1h", "webhook.lameDuck: 1h: want 0s to 60s"},
	{"state that is kept and removed", "uninstall.keepState=true,uninstall.removeMarkers=true", "uninstall.removeMarkers: uninstall.keepState leaves all state on objects"},
	{"state of sets that go", "uninstall.keepState=true,crds.keep=false", "uninstall.keepState: crds.keep is false, so the sets, whose state this leaves on objects, would be deleted with their CRDs: set crds.keep to true, or this to false"},
	{"a callback that is off", "callback.url=https://example.com", "callback.enabled: it is false, though callback.url or callback.certificate.secretName is set"},
	{"a monitor of nothing", "metrics.serviceMonitor.enabled=true,metrics.service.enabled=false", "metrics.serviceMonitor.enabled: it needs the Service"},
	{"two monitors", "metrics.serviceMonitor.enabled=true,metrics.podMonitor.enabled=true", "metrics.podMonitor.enabled: metrics.serviceMonitor has the same Pods scraped"},
	{"a scrape without end", "metrics.podMonitor.interval=1s,metrics.podMonitor.scrapeTimeout=1001ms", "metrics.podMonitor.scrapeTimeout: 1001ms is more than the interval, which is 1s"},
	{"a namespace twice", "rbac.endpointSecrets[0].namespace=a,rbac.endpointSecrets[1].namespace=a", `rbac.endpointSecrets: namespace "a" is there twice`},
	{"Services of all and of some", "rbac.endpointServices[0].namespace=a", "rbac.endpointServices: rbac.allEndpointServices has all of them"},
	{"Secrets of all and of some", "rbac.allEndpointSecrets=true,rbac.endpointSecrets[0].namespace=a", "rbac.endpointSecrets: rbac.allEndpointSecrets has all of them"},
	{"a resource twice", "rbac.resources[0].group=,rbac.resources[0].resource=pods,rbac.resources[1].group=,rbac.resources[1].resource=pods", "rbac.resources: pods is there twice"},
	{"a group in a resource", "rbac.resources[0].resource=certificates.cert-manager.io", `rbac.resources: "certificates.cert-manager.io" has its group in it: write group: cert-manager.io, resource: certificates`},
	{"a group twice", "rbac.resources[0].group=cert-manager.io,rbac.resources[0].resource=certificates.cert-manager.io", `rbac.resources: "certificates.cert-manager.io" has its group in it`},
	{"a name for the core group", "rbac.resources[0].resource=services.core", "rbac.resources: the core group has no name: write resource: services, without a group"},
	{"the core group by its version", "rbac.resources[0].group=v1,rbac.resources[0].resource=services", "rbac.resources: the core group has no name: write resource: services, without a group"},
	{"the status by itself", "rbac.resources[0].resource=services/status", `rbac.resources: "services/status": write resource: services, status: true`},
	{"a part of objects", "rbac.resources[0].group=apps,rbac.resources[0].resource=deployments/scale", `rbac.resources: "deployments/scale": sets handle whole objects: write resource: deployments`},
	{"a group with a version", "rbac.resources[0].group=cert-manager.io/v1,rbac.resources[0].resource=certificates", `rbac.resources: group "cert-manager.io/v1" has a version in it: write group: cert-manager.io`},
	{"a resource without its group", "rbac.resources[0].resource=certificates", `rbac.resources: certificates is not in the core group: say its group, such as group: cert-manager.io, or group: "" if it is`},
	{"Secrets as objects", "rbac.resources[0].group=,rbac.resources[0].resource=secrets", "rbac.resources: sets may not handle secrets: set settings.allowSecrets to true"},
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if out, err := template(t, "--set", test.set); err == nil {
				t.Errorf("%s is accepted", test.set)
			} else if !strings.Contains(out, test.want) {
				t.Errorf("%s is refused with %q: want %q", test.set, out, test.want)
			}
		})
	}
}

func TestAllContradictionsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := template(t, "--set", "webhook.port=8080,webhook.certificate.mode=secret,uninstall.keepState=true,uninstall.removeMarkers=true")
	if err == nil {
		t.Fatal("it is accepted")
	}
	for _, want := range []string{"these values cannot be:\n- ", "\n- webhook.port: ", "\n- uninstall.removeMarkers: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
}

// What looks like one of those, and is none.
func TestWhatIsAccepted(t *testing.T) {
	t.Parallel()
	for _, set := range []string{
		"callback.port=8080", "webhook.port=9444", "callback.enabled=true,callback.port=9443", "webhook.enabled=false,webhook.port=8080",
		"webhook.timeout=30s,webhook.lameDuck=0s,settings.gracePeriod=0s,settings.retryPeriod=1s",
		"settings.allowedNetworks={10.0.0.0/8,0.0.0.0/0,10.0.0.1,10.0.0.1/32,fd00::/8,::1,2001:db8::1/128,::ffff:10.0.0.1}",
		"settings.urlPrefixes={https://a,https://a.b:8443/c%20d/,https://[::1]:8443/x}", "settings.ignoreAnnotations={a*,b}",
		"settings.namespacedResources={*.*,*.a.b,a.b/*,*/c,services,/services,b/c}",
		"webhook.url=https://a", "webhook.url=https://10.0.0.1:8443/", "webhook.url=https://[fd00::1]:65535/a/b%20c", "callback.enabled=true,callback.url=https://a.b:1/c",
		"webhook.port=10250", "webhook.hostNetwork=true,hostUsers=true", "hostUsers=false",
		"rbac.resources[0].resource=services,rbac.resources[1].resource=persistentvolumeclaims,rbac.resources[1].status=true", "rbac.resources[0].group=,rbac.resources[0].resource=novelties",
		"uninstall.keepState=true,crds.keep=false,crds.enabled=false", "uninstall.keepState=true",
		"controller.strategy.type=Recreate,webhook.strategy.rollingUpdate.maxSurge=50%",
	} {
		objects := rendered(t, "--set", set)
		if _, err := load(t, settingsFile(t, objects), podsOf(t, objects)[0]); err != nil {
			t.Errorf("%s: the program does not: %v", set, err)
		}
	}
}
