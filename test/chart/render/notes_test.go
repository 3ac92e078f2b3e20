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
	for _, want := range []string{"helm test dogear -n dogear", "dogear rbac certificates.cert-manager.io | kubectl apply -f -", "kubectl apply -f set.yaml && kubectl get chs,hs -A -o wide", "docs/install.md"} {
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
	if text := notes(t, "namespaced.enabled=true,namespaced.namespaces={a,b}"); !strings.Contains(text, "for a, b alone") || strings.Contains(text, "chs") {
		t.Errorf("with namespaces:\n%s", text)
	}
}

func TestNotesWarnOfRisks(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"webhook.failurePolicy=Fail,webhook.replicas=1":       "webhook.failurePolicy is Fail with 1 replica: while its Pod is replaced, users can write no object that sets select.",
		"webhook.replicas=1":                                  "webhook.replicas is 1: while its Pod is replaced, defaults are not filled in.",
		"webhook.failurePolicy=Fail,webhook.hostNetwork=true": "webhook.failurePolicy is Fail on the nodes' network",
		"webhook.enabled=false":                               "kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration dogear.dev",
		"namespaced.enabled=true":                             "there is no webhook, so defaults are not filled in",
		"webhook.podDisruptionBudget.minAvailable=2":          "webhook.podDisruptionBudget.minAvailable is 2 of 2 replicas: no node with one of them can be drained.",
		"controller.replicas=0":                               "controller.replicas is 0: nothing is handled",
		"rbac.allEndpointSecrets=true":                        "the controller may read every Secret of the cluster",
		"settings.allowSecrets=true":                          "settings.allowSecrets: who may write sets may have Secrets sent to endpoints",
		"settings.allowLoopback=true":                         "settings.allowLoopback: URLs of sets may lead to the Pod's own host",
		"settings.urlPrefixes={https://example.com/}":         "settings.urlPrefixes without settings.deniedNetworks",
		"crds.keep=false":                                     "crds.keep is false: helm uninstall deletes the CRDs, and with them all sets of the cluster.",
		"uninstall.enabled=false":                             "before helm uninstall run `dogear uninstall`",
		"uninstall.keepState=true":                            "objects with Dogear's finalizer cannot be deleted until an installation goes on",
		"rbac.create=false":                                   "roles and bindings must be there already",
	} {
		if text := notes(t, set); !strings.Contains(text, "Choices to think about:\n- ") || !strings.Contains(text, want) {
			t.Errorf("%s: they don't say %q:\n%s", set, want, text)
		}
	}
}
