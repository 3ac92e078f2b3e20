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
	{"a key that is missing in a list", "rbac.resources[0].resource=services", "at '/rbac/resources/0': missing property 'group'"},
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
	{"a port twice", "webhook.port=8080", "webhook.port: 8080 is metrics.port, too"},
	{"a short lease", "settings.leaseDuration=10s", "settings.leaseDuration: 10s is not more than settings.renewDeadline, which is 10s"},
	{"a short deadline", "settings.retryPeriod=10s", "settings.renewDeadline: 10s is not more than 1.2 times settings.retryPeriod, which is 10s"},
	{"a payload without room", "settings.budget.payload=70000", "settings.budget.payload: 70000 bytes are more than settings.budget.marker, which is 65536"},
	{"patience without end", "webhook.timeout=1m", "webhook.timeout: 1m is too long: at most 30s"},
	{"a duck that walks on", "webhook.lameDuck=1h", "webhook.lameDuck: 1h is too long: at most 60s"},
	{"state that is kept and removed", "uninstall.keepState=true,uninstall.removeMarkers=true", "uninstall.removeMarkers: uninstall.keepState leaves all state on objects"},
	{"a callback that is off", "callback.url=https://example.com", "callback.enabled: it is false, though callback.url or callback.certificate.secretName is set"},
	{"a monitor of nothing", "metrics.serviceMonitor.enabled=true,metrics.service.enabled=false", "metrics.serviceMonitor.enabled: it needs the Service"},
	{"a namespace twice", "rbac.endpointSecrets[0].namespace=a,rbac.endpointSecrets[1].namespace=a", `rbac.endpointSecrets: namespace "a" is there twice`},
	{"Services of all and of some", "rbac.endpointServices[0].namespace=a", "rbac.endpointServices: rbac.allEndpointServices has all of them"},
	{"Secrets of all and of some", "rbac.allEndpointSecrets=true,rbac.endpointSecrets[0].namespace=a", "rbac.endpointSecrets: rbac.allEndpointSecrets has all of them"},
	{"a resource twice", "rbac.resources[0].group=,rbac.resources[0].resource=pods,rbac.resources[1].group=,rbac.resources[1].resource=pods", "rbac.resources: pods is there twice"},
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
