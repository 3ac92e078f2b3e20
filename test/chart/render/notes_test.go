package render

import (
	"strings"
	"testing"
)

func notes(t *testing.T, set string) string {
	t.Helper()
	out, err := helm(t, "install", release, chart(t, "dogear"), "--namespace", namespace, "--dry-run=client", "--set", set)
	if err != nil {
		t.Fatalf("%s: %v", set, err)
	}
	_, notes, found := strings.Cut(out, "NOTES:\n")
	if !found {
		t.Fatalf("%s: there are no notes", set)
	}
	return notes
}

func TestNotesSayWhatToDoNext(t *testing.T) {
	t.Parallel()
	text := notes(t, "")
	for _, want := range []string{"helm test dogear -n dogear", "dogear rbac certificates.cert-manager.io | kubectl apply -f -", "must be named in rbac.endpointSecrets", "kubectl apply -f set.yaml && kubectl get chs,hs -A -o wide", "docs/install.md"} {
		if !strings.Contains(text, want) {
			t.Errorf("they don't say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Choices to think about") {
		t.Errorf("the defaults are risky:\n%s", text)
	}
	if text := notes(t, "tests.enabled=false"); !strings.Contains(text, "dogear check -n dogear --wait") {
		t.Errorf("without a test:\n%s", text)
	}
	if text := notes(t, "namespaced.enabled=true,namespaced.namespaces={a,b}"); !strings.Contains(text, "for a, b alone") || strings.Contains(text, "chs") ||
		!strings.Contains(text, "\n   dogear rbac certificates.cert-manager.io --namespace-role=b --service-account=dogear/dogear-controller | kubectl apply -f -\n") {
		t.Errorf("with namespaces:\n%s", text)
	}
}

func TestNotesKnowTheRightsThatThereAre(t *testing.T) {
	t.Parallel()
	text := notes(t, "rbac.resources[0].group=cert-manager.io,rbac.resources[0].resource=certificates,rbac.resources[1].group=,rbac.resources[1].resource=pods,rbac.endpointSecrets[0].namespace=a")
	for _, want := range []string{"may handle certificates.cert-manager.io, pods.", "dogear rbac RESOURCE | kubectl apply -f -", "are those of rbac.endpointSecrets"} {
		if !strings.Contains(text, want) {
			t.Errorf("they don't say %q:\n%s", want, text)
		}
	}
	if text := notes(t, "rbac.create=false"); strings.Contains(text, "dogear rbac") || !strings.Contains(text, "--set rbac.create=true") {
		t.Errorf("without roles:\n%s", text)
	}
	if text := notes(t, "rbac.allEndpointSecrets=true"); strings.Contains(text, "Secrets that sets refer to") {
		t.Errorf("with all Secrets:\n%s", text)
	}
}

func TestNotesWarnOfRisks(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"webhook.failurePolicy=Fail,webhook.replicas=1":                          "webhook.failurePolicy is Fail with 1 replica: while its Pod is replaced, users can write no object that sets select.",
		"webhook.replicas=1":                                                     "webhook.replicas is 1: while its Pod is replaced, defaults are not filled in.",
		"webhook.failurePolicy=Fail,webhook.hostNetwork=true":                    "webhook.failurePolicy is Fail on the nodes' network",
		"webhook.replicas=0":                                                     "webhook.replicas is 0: there is no Pod, so defaults are not filled in",
		"webhook.replicas=0,webhook.failurePolicy=Fail":                          "all writes of objects that sets select are refused until there is a Pod.",
		"webhook.autoscaling.enabled=true,webhook.autoscaling.minReplicas=1":     "webhook.autoscaling.minReplicas is 1: while its Pod",
		"webhook.podDisruptionBudget.minAvailable=100%":                          "webhook.podDisruptionBudget.minAvailable is 100% of 2 replicas: no node with one of them can be drained.",
		"webhook.podDisruptionBudget.minAvailable=51%":                           "webhook.podDisruptionBudget.minAvailable is 51% of 2 replicas",
		"webhook.podDisruptionBudget.maxUnavailable=0":                           "webhook.podDisruptionBudget.maxUnavailable is 0: no node with one of its Pods can be drained.",
		"controller.replicas=2,controller.podDisruptionBudget.maxUnavailable=0%": "controller.podDisruptionBudget.maxUnavailable is 0%: no node",
		"namespaced.enabled=true,rbac.allEndpointSecrets=true":                   "the controller may read every Secret in dogear.",
		"webhook.enabled=false":                                                  "kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration dogear.dev",
		"namespaced.enabled=true":                                                "there is no webhook, so defaults are not filled in",
		"webhook.podDisruptionBudget.minAvailable=2":                             "webhook.podDisruptionBudget.minAvailable is 2 of 2 replicas: no node with one of them can be drained.",
		"webhook.autoscaling.enabled=true,webhook.resources=null":                "webhook.autoscaling: targetCPUUtilizationPercentage is a share of webhook.resources.requests.cpu, which there is not",
		"webhook.autoscaling.enabled=true,webhook.resources.requests.cpu=null":   "by this it never scales. Set the request.",
		"controller.replicas=0":                                                  "controller.replicas is 0: nothing is handled",
		"rbac.allEndpointSecrets=true":                                           "the controller may read every Secret of the cluster",
		"settings.allowSecrets=true":                                             "settings.allowSecrets: who may write sets may have Secrets sent to endpoints",
		"settings.allowLoopback=true":                                            "settings.allowLoopback: URLs of sets may lead to the Pod's own host",
		"settings.urlPrefixes={https://example.com/}":                            "settings.urlPrefixes without settings.deniedNetworks",
		"crds.keep=false":                                                        "crds.keep is false: helm uninstall deletes the CRDs, and with them all sets of the cluster.",
		"uninstall.enabled=false":                                                "before helm uninstall run `dogear uninstall`",
		"uninstall.keepState=true":                                               "objects with Dogear's finalizer cannot be deleted until an installation goes on",
		"metrics.prometheusRule.enabled=true":                                    "the alerts are on the job dogear-metrics of namespace dogear, and DogearDown fires for good",
		"rbac.create=false":                                                      "roles and bindings must be there already",
	} {
		if text := notes(t, set); !strings.Contains(text, "Choices to think about:\n- ") || !strings.Contains(text, want) {
			t.Errorf("%s: they don't say %q:\n%s", set, want, text)
		}
	}
}

func TestNotesDoNotWarnOfWhatIsWell(t *testing.T) {
	t.Parallel()
	for _, set := range []string{
		"webhook.podDisruptionBudget.minAvailable=50%", "webhook.podDisruptionBudget.maxUnavailable=1%",
		"webhook.replicas=3,webhook.podDisruptionBudget.minAvailable=2", "controller.podDisruptionBudget.maxUnavailable=0",
		"webhook.replicas=null,controller.replicas=null",
		"webhook.autoscaling.enabled=true", "webhook.autoscaling.enabled=true,webhook.resources.requests=null,webhook.resources.limits.cpu=1",
		"metrics.prometheusRule.enabled=true,metrics.serviceMonitor.enabled=true", "metrics.prometheusRule.enabled=true,metrics.podMonitor.enabled=true",
	} {
		if text := notes(t, set); strings.Contains(text, "Choices to think about") {
			t.Errorf("%s:\n%s", set, text)
		}
	}
}
