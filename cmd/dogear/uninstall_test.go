package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/migrate"
	"github.com/dogear-dev/dogear/controller/uninstall"
	"github.com/dogear-dev/dogear/test/rig"
)

// clusterBench is a cluster with what the service leaves in it.
type clusterBench struct {
	cp    *rig.ControlPlane
	admin client.Client
}

// The commands that work on a cluster share one.
func TestCommandsOnACluster(t *testing.T) {
	needsPrograms(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cp, err := rig.Start(ctx, rig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	crds, err := rig.TestCRDs("Strict", "ClusterWide")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := rig.DogearCRDs()
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.InstallCRDs(ctx, append(crds, ours...)...); err != nil {
		t.Fatal(err)
	}
	kubeconfig := t.TempDir() + "/kubeconfig"
	if err := cp.Kubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv(namespaceVariable, "")
	b := &clusterBench{cp: cp}
	if b.admin, err = cp.Client(); err != nil {
		t.Fatal(err)
	}
	t.Run("rbac", b.rbac)
	t.Run("rbac of an installation with names of its own", b.rbacAccounts)
	t.Run("migrate", b.migrate)
	t.Run("uninstall", b.uninstall)
}

func (b *clusterBench) rbac(t *testing.T) {
	roles := func(stdout string) (all []rbacv1.ClusterRole) {
		for document := range strings.SplitSeq(stdout, "---\n") {
			role := rbacv1.ClusterRole{}
			if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
				t.Errorf("%v: %s", err, document)
			}
			all = append(all, role)
		}
		return all
	}
	stdout, stderr, status := dogear(t, demo.Options{}, "rbac", "services", "v1/configmaps", "test.dogear.dev/v1/stricts", "services")
	if have := roles(stdout); status != exitOK || stderr != "" || len(have) != 3 || len(have[0].Rules) != 2 || len(have[1].Rules) != 1 || len(have[2].Rules) != 2 {
		t.Errorf("status %d, %s%s", status, stderr, stdout)
	}
	for _, role := range roles(stdout) {
		if err := b.admin.Create(t.Context(), &role); err != nil {
			t.Error(err)
		}
	}
	stdout, stderr, status = dogear(t, demo.Options{}, "rbac", "certificates.cert-manager.io")
	if want := "dogear: warning: the API server does not serve certificates.cert-manager.io (now)"; status != exitOK || !strings.HasPrefix(stderr, want) || len(roles(stdout)[0].Rules) != 2 {
		t.Errorf("status %d, %s%s", status, stderr, stdout)
	}
	_, stderr, status = dogear(t, demo.Options{}, "rbac", "bindings")
	if status != exitUsage || !strings.Contains(stderr, "no set may name bindings: they are not stored") {
		t.Errorf("status %d, %s", status, stderr)
	}
	for args, want := range map[string]string{
		"rbac Strict":                   "did you mean stricts.test.dogear.dev?",
		"rbac deploy":                   "did you mean deployments.apps?",
		"rbac events.example.com Thing": "serves no kind Thing",
		"rbac clusterwides.test.dogear.dev --namespace-role=shop --service-account=a/b": "objects of clusterwides.test.dogear.dev are in no namespace",
	} {
		if stdout, stderr, status := dogear(t, demo.Options{}, strings.Split(args, " ")...); status != exitUsage || !strings.Contains(stderr, want) || stdout != "" {
			t.Errorf("dogear %s: status %d, %s, want %q", args, status, stderr, want)
		}
	}
	_, stderr, status = dogear(t, demo.Options{}, "rbac", "services", "--namespace-role=shop")
	if status != exitFailed || !strings.Contains(stderr, "find the controller's ServiceAccount, or set --service-account: no Dogear in the cluster") {
		t.Errorf("status %d, %s", status, stderr)
	}
	b.deploy(t)
	stdout, stderr, status = dogear(t, demo.Options{}, "rbac", "services", "--namespace-role=shop", "-o", "json")
	list := struct {
		Kind  string
		Items []rbacv1.RoleBinding
	}{}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || status != exitOK || list.Kind != "List" || len(list.Items) != 2 {
		t.Fatalf("status %d, %v: %s%s", status, err, stderr, stdout)
	}
	if have := list.Items[1].Subjects; len(have) != 1 || have[0] != (rbacv1.Subject{Kind: "ServiceAccount", Namespace: "dogear", Name: "robot"}) {
		t.Errorf("got %+v", have)
	}
	stdout, _, _ = dogear(t, demo.Options{}, "__complete", "rbac", "services", "")
	for want, there := range map[string]bool{"stricts.test.dogear.dev\n": true, "deployments.apps\n": true, "\nservices\n": false, "\nbindings\n": false} {
		if strings.Contains(stdout, want) != there {
			t.Errorf("completion: %q is there: want %v: %s", want, there, stdout)
		}
	}
}

// deploy makes a Deployment of the controller that does not run.
func (b *clusterBench) deploy(t *testing.T) {
	t.Helper()
	labels := map[string]string{installation.ComponentLabel: installation.ComponentController}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dogear"}},
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "dogear", Name: "dogear-controller", Labels: labels},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
					ServiceAccountName: "robot", Containers: []corev1.Container{{Name: "dogear", Image: "dogear"}},
				}},
			},
		},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "dogear", Name: installation.Name}, Data: map[string]string{
			"ledger.json": `{"handlers":{},"kinds":["ConfigMap.v1."]}`,
		}},
	} {
		if err := b.admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *clusterBench) migrate(t *testing.T) {
	stdout, stderr, status := dogear(t, demo.Options{}, "migrate")
	if want := "clusterhandlersets.dogear.dev: nothing to do, all is stored as v1alpha1\nhandlersets.dogear.dev: nothing"; status != exitOK || !strings.HasPrefix(stdout, want) {
		t.Errorf("status %d, %s%s", status, stderr, stdout)
	}
	stdout, stderr, status = dogear(t, demo.Options{}, "migrate", "-o", "json")
	var result migrate.Result
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || status != exitOK || !result.Done || len(result.CRDs) != 2 || strings.Count(stdout, `"left": []`) != 2 || !strings.Contains(stderr, "all objects are stored as v1alpha1") {
		t.Errorf("status %d, %v, %s%s", status, err, stderr, stdout)
	}
}

func (b *clusterBench) uninstall(t *testing.T) {
	for i := range 3 {
		u := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("held-", i), Finalizers: []string{"dogear.dev/finalizer"}}}
		if err := b.admin.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, status := dogear(t, demo.Options{}, "uninstall", "--dry-run")
	if status != exitOK || !strings.Contains(stdout, "configmaps  ") || !strings.Contains(stdout, "Nothing was changed") || !strings.Contains(stderr, "Would scale the Deployment dogear/dogear-controller from 1 to 0") {
		t.Errorf("status %d, %s%s", status, stderr, stdout)
	}
	_, stderr, status = dogear(t, demo.Options{}, "uninstall", "--yes", "--timeout=1ns")
	if status != exitFailed || !strings.Contains(stderr, "dogear: not done within 1ns (see --timeout): not done yet") {
		t.Errorf("status %d, %s", status, stderr)
	}
	_, stderr, status = dogear(t, demo.Options{}, "uninstall")
	if status != exitUsage || !strings.Contains(stderr, "dogear: nobody can be asked, as stdin is no terminal: add --yes") {
		t.Errorf("status %d, %s", status, stderr)
	}

	weak, err := b.cp.ServiceAccountConfig(t.Context(), "dogear", "weak", rig.Rights{Cluster: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "delete"}},
		{APIGroups: []string{"*"}, Resources: []string{"deployments/scale"}, Verbs: []string{"patch"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := t.TempDir() + "/weak"
	if err := rig.WriteKubeconfig(kubeconfig, weak); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status = dogear(t, demo.Options{}, "uninstall", "--yes", "-o", "json", "--kubeconfig="+kubeconfig)
	var result uninstall.Result
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || status != exitFailed || result.Done || len(result.Left) != 3 || result.Namespace != "dogear" {
		t.Errorf("status %d, %v, %s%s", status, err, stderr, stdout)
	}
	if !strings.HasSuffix(stderr, "dogear: something is left: mend what the reasons say, and run this again\n") {
		t.Errorf("got %s", stderr)
	}

	stdout, stderr, status = dogear(t, demo.Options{}, "uninstall", "--yes", "--remove-markers")
	if status != exitOK || !strings.Contains(stdout, "Done: nothing in the cluster waits for Dogear") || !strings.Contains(stderr, "Deleted configmaps dogear/dogear.dev\n") {
		t.Errorf("status %d, %s%s", status, stderr, stdout)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	if err := b.admin.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if m := &list.Items[i]; len(m.Finalizers) > 0 || m.Name == installation.Name {
			t.Errorf("%s has %q", m.Name, m.Finalizers)
		}
	}
	stdout, _, status = dogear(t, demo.Options{}, "uninstall", "--yes", "-n", "dogear", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || status != exitOK || !result.Done {
		t.Errorf("again: status %d, %v, %s", status, err, stdout)
	}
}

func TestHelpOfClusterCommands(t *testing.T) {
	for args, want := range map[string][]string{
		"uninstall --help":             {"Examples:", "--dry-run", "--keep-state", "--remove-markers", "--all-resources", "--incomplete", "--as ", "--namespaces", "--release", "--timeout", "--yes", "--context", "exit status"},
		"rbac --help":                  {"Examples:", "--status", "--namespace-role", "--service-account", "kubectl apply -f -"},
		"migrate --help":               {"Examples:", "--timeout", "storedVersions", "exit status"},
		"__complete uninstall -o ":     {"text", "json"},
		"__complete rbac --output ":    {"yaml", "json"},
		"__complete rbac x --status ":  {"auto", "true", "false"},
		"__complete migrate --output ": {"text", "json"},
		"__complete uni":               {"uninstall"},
	} {
		stdout, stderr, status := dogear(t, demo.Options{}, strings.Split(args, " ")...)
		if status != exitOK {
			t.Errorf("dogear %s: status %d: %s", args, status, stderr)
		}
		for _, want := range want {
			if !strings.Contains(stdout, want) {
				t.Errorf("dogear %s: no %q in:\n%s", args, want, stdout)
			}
		}
	}
}

func TestWrongUsageOfClusterCommands(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	for args, want := range map[string]string{
		"uninstall extra":                         `dogear: dogear uninstall takes no arguments, but got ["extra"]`,
		"uninstall --yes -o xml":                  `dogear: --output is "xml": want text or json`,
		"uninstall --yes --timeout=0":             `dogear: --timeout is 0s: want more than 0`,
		"uninstall --keep-state --remove-markers": `dogear: --keep-state leaves objects as they are: leave out --remove-markers`,
		"uninstall --keep-state --incomplete":     `dogear: --keep-state leaves objects as they are`,
		"uninstall --keep-state --all-resources":  `dogear: --keep-state leaves objects as they are`,
		"uninstall --yes --namespaces=shop,":      `dogear: --namespaces: "" is no name of a namespace`,
		"uninstall --yes --namespaces=":           `dogear: --namespaces is empty: name those in which Dogear works, or leave it out`,
		"uninstall --dry-run --namespaces=a.b":    `dogear: --namespaces: "a.b" is no name of a namespace`,
		"uninstall":                               `dogear: nobody can be asked`,
		"uninstal":                                `dogear: there is no command "uninstal": did you mean "uninstall"?`,
		"migrate -o yaml":                         `dogear: --output is "yaml": want text or json`,
		"migrate --timeout=-1s":                   `dogear: --timeout is -1s: want more than 0`,
		"rbac":                                    `dogear: name a resource: dogear rbac certificates.cert-manager.io`,
		"rbac pods --status=maybe":                `dogear: --status is "maybe": want auto, true or false`,
		"rbac pods -o text":                       `dogear: --output is "text": want yaml or json`,
		"rbac a/b/c/d":                            `dogear: "a/b/c/d" names no resource: want it as in certificates.cert-manager.io`,
		"rbac Certificate --status=true":          `dogear: "Certificate" is no name of a resource, but of a kind`,
		"rbac pods --service-account=a/b":         `dogear: --service-account is for --namespace-role`,
		"rbac pods --status=true --namespace-role=x --service-account=a": `dogear: --service-account is "a": want namespace/name`,
	} {
		stdout, stderr, status := dogear(t, demo.Options{}, strings.Split(args, " ")...)
		if status != exitUsage || !strings.HasPrefix(stderr, want) || stdout != "" {
			t.Errorf("dogear %s: status %d, %q, %q, want %d and %q", args, status, stdout, stderr, exitUsage, want)
		}
	}
	for args, want := range map[string]string{
		"uninstall --yes": "dogear: no cluster is known: set --kubeconfig or KUBECONFIG",
		"migrate":         "dogear: no cluster is known",
		"rbac pods":       "dogear: no cluster is known: set --kubeconfig or KUBECONFIG; without a cluster, set --status",
		"rbac pods --status=true --namespace-role=x": "dogear: no cluster is known: set --kubeconfig or KUBECONFIG; without a cluster, set --service-account",
	} {
		if stdout, stderr, status := dogear(t, demo.Options{}, strings.Split(args, " ")...); status != exitFailed || !strings.HasPrefix(stderr, want) || stdout != "" {
			t.Errorf("dogear %s: status %d, %q, %q, want %q", args, status, stdout, stderr, want)
		}
	}
}

func TestRolesWithoutACluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	stdout, stderr, status := dogear(t, demo.Options{}, "rbac", "certificates.cert-manager.io", "--status=false")
	const want = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    dogear.dev/aggregate-to-controller: "true"
  name: dogear-certificates.cert-manager.io
rules:
- apiGroups:
  - cert-manager.io
  resources:
  - certificates
  verbs:
  - get
  - list
  - watch
  - patch
`
	if status != exitOK || stdout != want || stderr != "" {
		t.Errorf("status %d, %s%s", status, stderr, stdout)
	}
	stdout, _, status = dogear(t, demo.Options{}, "rbac", "services", "--status=true", "-o", "json")
	role := rbacv1.ClusterRole{}
	if err := json.Unmarshal([]byte(stdout), &role); err != nil || status != exitOK || role.Kind != "ClusterRole" || len(role.Rules) != 2 {
		t.Errorf("status %d, %v, %s", status, err, stdout)
	}
}

// Commands that documentation and help show have the flags that they use.
func TestClusterCommandsOfDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/uninstall.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(page), newUninstall().Example, newRBAC().Example, newMigrate().Example}
	shown := regexp.MustCompile(`(?m)(?:^|\$ |` + "`" + `| )dogear ((?:uninstall|rbac|migrate)\b[^|>` + "`" + `\n]*)`)
	found := 0
	for _, text := range texts {
		for _, command := range shown.FindAllStringSubmatch(text, -1) {
			found++
			args := append(strings.Fields(command[1]), "--help")
			if _, stderr, status := dogear(t, demo.Options{}, args...); status != exitOK {
				t.Errorf("dogear %s: status %d, %s", command[1], status, stderr)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d commands were found", found)
	}
}

func TestAskFirst(t *testing.T) {
	for answer, goesOn := range map[string]bool{"y\n": true, "Yes\n": true, "yes": true, "\n": false, "": false, "no\n": false, "yeah\n": false} {
		var out strings.Builder
		err := ask(strings.NewReader(answer), &out, "Remove it?")
		if (err == nil) != goesOn || out.String() != "Remove it? [y/N] " {
			t.Errorf("%q: %v, %q", answer, err, out.String())
		}
	}
	if isTerminal(strings.NewReader("")) {
		t.Error("a text is no terminal")
	}
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if isTerminal(io.Reader(pipe)) {
		t.Error("a pipe is no terminal")
	}
}
