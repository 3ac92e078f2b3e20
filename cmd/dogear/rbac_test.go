package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
)

// Who handles the objects of a namespace, and who releases them when all is
// removed, are two.
func TestARoleInANamespaceIsBoundToTheJobToo(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	for given, want := range map[string][]string{
		"dogear/dogear-controller":       {"dogear/dogear-controller", "dogear/dogear-uninstall"},
		"dogear/robot":                   {"dogear/robot"},
		"dogear/robot,dogear/remover":    {"dogear/robot", "dogear/remover"},
		"dogear/x-controller,dogear/bye": {"dogear/x-controller", "dogear/bye"},
	} {
		stdout, stderr, status := dogear(t, demo.Options{}, "rbac", "services", "--status=true", "--namespace-role=shop", "--service-account="+given, "-o", "json")
		if have := boundTo(t, stdout); status != exitOK || !slices.Equal(have, want) {
			t.Errorf("%s: status %d, %s: bound to %q, want %q", given, status, stderr, have, want)
		}
	}
	for _, wrong := range []string{"a", "a/", "/b", "a/b,c", "a/b,", "a/b/c", "A/b"} {
		stdout, stderr, status := dogear(t, demo.Options{}, "rbac", "pods", "--status=true", "--namespace-role=x", "--service-account="+wrong)
		if status != exitUsage || !strings.Contains(stderr, "want namespace/name") || stdout != "" {
			t.Errorf("%q: status %d, %s%s", wrong, status, stderr, stdout)
		}
	}
}

// Rights that no set could make use of are not printed.
func TestNoRolesForWhatNoSetMayName(t *testing.T) {
	for args, want := range map[string]string{
		"leases.coordination.k8s.io":                      "no set may name leases.coordination.k8s.io: leases change every few seconds",
		"services clusterroles.rbac.authorization.k8s.io": "no set may name clusterroles.rbac.authorization.k8s.io: to change a role",
		"handlersets.dogear.dev":                          "no set may name handlersets.dogear.dev: these are Dogear's own kinds",
		"v1/events":                                       "no set may name events: Dogear writes events",
		"events.k8s.io/v1/events":                         "no set may name events.events.k8s.io",
		"authorization.k8s.io/v1/subjectaccessreviews":    "reviews are questions to the API server",
	} {
		for _, more := range [][]string{{"--status=false"}, {"--status=false", "--namespace-role=x", "--service-account=a/b"}, {}} {
			line := append(append([]string{"rbac"}, strings.Fields(args)...), more...)
			stdout, stderr, status := dogear(t, demo.Options{}, line...)
			if status != exitUsage || !strings.HasPrefix(stderr, "dogear: no set may name ") || !strings.Contains(stderr, want) || stdout != "" {
				t.Errorf("dogear %q: status %d, %s%s", line, status, stderr, stdout)
			}
		}
	}
}

// Without a cluster nobody knows what is served, but what is in the core group.
func TestARoleThatIsSureToBeWrongIsWarnedOf(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	for name, want := range map[string]string{
		"certificates":                 "dogear: warning: the core group has no certificates: want the group, too, as in certificates.cert-manager.io",
		"v1/svc":                       "dogear: warning: the core group has no svc: ",
		"secrets":                      "dogear: warning: sets may name secrets only where the settings of Dogear say so: allowSecrets",
		"services":                     "",
		"certificates.cert-manager.io": "",
		"secrets.example.com":          "",
	} {
		stdout, stderr, status := dogear(t, demo.Options{}, "rbac", name, "--status=true")
		if status != exitOK || !strings.HasPrefix(stderr, want) || want == "" && stderr != "" || !strings.HasPrefix(stdout, "apiVersion: ") {
			t.Errorf("%s: status %d, %q, %s", name, status, stderr, stdout)
		}
	}
	for _, name := range []string{"certificates.cert-manager.io/v1", "apps/v1", "v1beta1", "v1"} {
		stdout, stderr, status := dogear(t, demo.Options{}, "rbac", name, "--status=true")
		if status != exitUsage || !strings.Contains(stderr, "cert-manager.io/v1/certificates") || stdout != "" {
			t.Errorf("%s: status %d, %q, %s", name, status, stderr, stdout)
		}
	}
}

// What the settings of the Dogear in the cluster call the account that removes it
// is bound beside the controller's.
func (b *clusterBench) rbacAccounts(t *testing.T) {
	d := &appsv1.Deployment{}
	if err := b.admin.Get(t.Context(), client.ObjectKey{Namespace: "dogear", Name: "dogear-controller"}, d); err != nil {
		t.Fatal(err)
	}
	process := &d.Spec.Template.Spec.Containers[0]
	if _, stderr, status := dogear(t, demo.Options{}, "rbac", "services"); status != exitOK || stderr != "" {
		t.Errorf("of one for the whole cluster: status %d, %s", status, stderr)
	}
	process.Args = []string{"run", "--uninstall-account=remover", "--namespaces=shop,bank"}
	if err := b.admin.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := dogear(t, demo.Options{}, "rbac", "services", "--namespace-role=shop", "-o", "json")
	if names := boundTo(t, stdout); status != exitOK || !slices.Equal(names, []string{"dogear/robot", "dogear/remover"}) {
		t.Errorf("status %d, %s: bound to %q", status, stderr, names)
	}
	_, stderr, status = dogear(t, demo.Options{}, "rbac", "services")
	if want := "dogear: warning: the Dogear in namespace dogear works in shop, bank alone, and a ClusterRole gives it nothing"; status != exitOK || !strings.HasPrefix(stderr, want) {
		t.Errorf("status %d, %s, want %q", status, stderr, want)
	}
	process.Args = nil
	if err := b.admin.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// boundTo are the ServiceAccounts of the RoleBinding that was printed.
func boundTo(t *testing.T, stdout string) (names []string) {
	t.Helper()
	list := struct{ Items []rbacv1.RoleBinding }{}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list.Items) != 2 {
		t.Errorf("want a Role and a RoleBinding: %v, %s", err, stdout)
		return nil
	}
	for _, s := range list.Items[1].Subjects {
		if names = append(names, s.Namespace+"/"+s.Name); s.Kind != rbacv1.ServiceAccountKind {
			t.Errorf("got %+v", s)
		}
	}
	return names
}
