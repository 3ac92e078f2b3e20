package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// to converts an object; a field that its type lacks fails the test.
func to[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
		t.Fatalf("%s: %v", called(o), err)
	}
	return typed
}

// rolesOf are the Roles and ClusterRoles among objects, as ClusterRoles.
func rolesOf(t *testing.T, objects []*unstructured.Unstructured) (roles []*rbacv1.ClusterRole) {
	t.Helper()
	for _, o := range objects {
		switch o.GetKind() {
		case "ClusterRole":
			roles = append(roles, to[rbacv1.ClusterRole](t, o))
		case "Role":
			role := to[rbacv1.Role](t, o)
			roles = append(roles, &rbacv1.ClusterRole{ObjectMeta: role.ObjectMeta, Rules: role.Rules})
		}
	}
	return roles
}

func TestNoRuleHasAStar(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		for _, role := range rolesOf(t, objects) {
			for _, rule := range role.Rules {
				for _, words := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames, rule.NonResourceURLs} {
					for _, word := range words {
						if strings.Contains(word, "*") {
							t.Errorf("%s/%s: %v", role.Namespace, role.Name, rule)
						}
					}
				}
				if len(rule.Verbs) == 0 || len(rule.Resources) == 0 {
					t.Errorf("%s/%s: a rule without an effect: %v", role.Namespace, role.Name, rule)
				}
			}
		}
	})
}

// Nobody but the administrator of the cluster escalates rights.
func TestNoRuleGivesRightsToGiveRights(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		for _, role := range rolesOf(t, objects) {
			for _, rule := range role.Rules {
				if slices.Contains(rule.APIGroups, rbacv1.GroupName) || slices.ContainsFunc(rule.Verbs, func(verb string) bool {
					return slices.Contains([]string{"bind", "escalate", "impersonate"}, verb)
				}) {
					t.Errorf("%s/%s: %v", role.Namespace, role.Name, rule)
				}
			}
		}
	})
}

// ofOne are objects of which the service has one or two, with known names:
// nothing but create is allowed on others.
var ofOne = []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "customresourcedefinitions", "customresourcedefinitions/status"}

func TestObjectsWithKnownNamesAreNamed(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		for _, role := range rolesOf(t, objects) {
			for _, rule := range role.Rules {
				if slices.Equal(rule.Verbs, []string{"create"}) || len(rule.ResourceNames) > 0 {
					continue
				}
				for _, resource := range rule.Resources {
					if slices.Contains(ofOne, resource) || role.Namespace == namespace && slices.Contains([]string{"secrets"}, resource) {
						t.Errorf("%s/%s: %v", role.Namespace, role.Name, rule)
					}
				}
			}
		}
	})
}

// granted are the rights of a ServiceAccount of the release by its suffix:
// "<where> <verb> <resource>.<group>[/<name>]". Those of the aggregated role are
// those of the roles that it collects.
func granted(t *testing.T, objects []*unstructured.Unstructured, account string) []string {
	t.Helper()
	roles := rolesOf(t, objects)
	rulesOf := func(kind, namespace, name string) (rules []rbacv1.PolicyRule) {
		if kind == "ClusterRole" {
			namespace = ""
		}
		for _, role := range roles {
			if role.Name == name && role.Namespace == namespace {
				rules = append(rules, role.Rules...)
				if role.AggregationRule == nil {
					continue
				}
				for _, other := range roles {
					if other.Labels["dogear.dev/aggregate-to-controller"] == "true" {
						rules = append(rules, other.Rules...)
					}
				}
			}
		}
		return rules
	}
	var rights []string
	for _, o := range objects {
		if o.GetKind() != "ClusterRoleBinding" && o.GetKind() != "RoleBinding" {
			continue
		}
		binding := to[rbacv1.RoleBinding](t, o) // the other has the same fields
		if !strings.HasSuffix(binding.Subjects[0].Name, "-"+account) {
			continue
		}
		where := binding.Namespace
		if o.GetKind() == "ClusterRoleBinding" {
			where = "cluster"
		}
		rules := rulesOf(binding.RoleRef.Kind, binding.Namespace, binding.RoleRef.Name)
		if len(rules) == 0 && binding.RoleRef.Name != "dogear-resources" {
			t.Errorf("%s binds %s %s, which has no rules", called(o), binding.RoleRef.Kind, binding.RoleRef.Name)
		}
		for _, rule := range rules {
			rights = append(rights, spread(where, rule)...)
		}
	}
	slices.Sort(rights)
	return slices.Compact(rights)
}

func spread(where string, rule rbacv1.PolicyRule) (rights []string) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					right := fmt.Sprintf("%s %s %s", where, verb, strings.TrimSuffix(resource+"."+group, "."))
					rights = append(rights, strings.TrimSuffix(right+" "+name, " "))
				}
			}
		}
	}
	return rights
}

func TestTheWebhookIsPowerless(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		for _, right := range granted(t, objects, "webhook") {
			words := strings.Fields(right)
			reads := slices.Contains([]string{"get", "list", "watch"}, words[1]) &&
				slices.Contains([]string{"clusterhandlersets.dogear.dev", "handlersets.dogear.dev", "namespaces"}, words[2])
			if !reads && right != "dogear get secrets dogear.dev-webhook" {
				t.Errorf("it may %s", right)
			}
		}
	})
}

// With a certificate that is mounted, Secrets are none of its business.
func TestAMountedCertificateTakesNoRight(t *testing.T) {
	t.Parallel()
	sets := valuesSets(t)
	for _, name := range []string{"cert-manager", "provided-secret"} {
		objects := rendered(t, "-f", sets[name], "--set", "callback.enabled=false,callback.url=,callback.certificate.secretName=")
		for _, account := range []string{"webhook", "controller"} {
			for _, right := range granted(t, objects, account) {
				if strings.Contains(right, "secrets") {
					t.Errorf("%s: %s may %s", name, account, right)
				}
			}
		}
	}
}

func TestTheControllersRights(t *testing.T) {
	t.Parallel()
	got := granted(t, rendered(t, "--set", "rbac.resources[0].group=cert-manager.io,rbac.resources[0].resource=certificates"), "controller")
	want := []string{
		"cluster create mutatingwebhookconfigurations.admissionregistration.k8s.io",
		"cluster create validatingwebhookconfigurations.admissionregistration.k8s.io",
		"cluster get mutatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster get validatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster patch mutatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster patch validatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster create events.events.k8s.io", "cluster patch events.events.k8s.io",
		"cluster patch clusterhandlersets/status.dogear.dev", "cluster patch handlersets/status.dogear.dev",
		"cluster get services",
		"dogear create configmaps", "dogear get configmaps dogear.dev", "dogear update configmaps dogear.dev",
		"dogear create leases.coordination.k8s.io", "dogear get leases.coordination.k8s.io dogear.dev", "dogear update leases.coordination.k8s.io dogear.dev",
		"dogear create secrets", "dogear get secrets dogear.dev-webhook", "dogear update secrets dogear.dev-webhook",
	}
	for _, resource := range []string{"clusterhandlersets.dogear.dev", "handlersets.dogear.dev", "certificates.cert-manager.io"} {
		for _, verb := range []string{"list", "watch", "patch"} {
			want = append(want, "cluster "+verb+" "+resource)
		}
	}
	want = append(want, "cluster get certificates.cert-manager.io", "cluster list namespaces", "cluster watch namespaces")
	slices.Sort(want)
	for _, right := range got {
		if !slices.Contains(want, right) {
			t.Errorf("it may %s", right)
		}
	}
	for _, right := range want {
		if !slices.Contains(got, right) {
			t.Errorf("it may not %s", right)
		}
	}
}

func TestNamespacedModeHasNothingOfTheCluster(t *testing.T) {
	t.Parallel()
	objects := rendered(t, "-f", valuesSets(t)["namespaced"])
	for _, o := range objects {
		if o.GetNamespace() == "" {
			t.Errorf("%s is of the whole cluster", called(o))
		}
		if strings.Contains(o.GetName(), "webhook") {
			t.Errorf("%s is of a webhook", called(o))
		}
	}
	for _, account := range []string{"controller", "uninstall", "check"} {
		rights := granted(t, objects, account)
		for _, right := range rights {
			if strings.HasPrefix(right, "cluster ") || strings.Contains(right, "clusterhandlersets") {
				t.Errorf("%s may %s", account, right)
			}
		}
		for _, where := range []string{"team-a", "team-b"} {
			if !slices.Contains(rights, where+" list handlersets.dogear.dev") || !slices.Contains(rights, where+" list certificates.cert-manager.io") {
				t.Errorf("%s may not list sets or certificates in %s", account, where)
			}
		}
	}
	if rights := granted(t, objects, "controller"); !slices.Contains(rights, "team-a get secrets signing") || slices.Contains(rights, "team-b get secrets") ||
		!slices.Contains(rights, "team-b get services") || slices.Contains(rights, "team-a get services") || !slices.Contains(rights, "team-a get services hooks") {
		t.Errorf("the controller may %v", rights)
	}
}

// What no set may name is refused, and nothing else.
func TestNoRightsForWhatNoSetMayName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"handlersets.dogear.dev", "leases.coordination.k8s.io", "events.events.k8s.io", "events", "bindings", "componentstatuses", "pods",
		"tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io",
		"validatingwebhookconfigurations.admissionregistration.k8s.io", "imagereviews.imagepolicy.k8s.io", "reviews.example.com", "events.example.com",
	} {
		resource, group, _ := strings.Cut(name, ".")
		_, err := template(t, "--set", "rbac.resources[0].group="+group+",rbac.resources[0].resource="+resource)
		refused := err != nil && strings.Contains(err.Error(), "rbac.resources: no set may handle "+name+", so the controller needs no rights for them")
		if want := v1alpha1.Forbidden(schema.GroupResource{Group: group, Resource: resource}) != ""; refused != want || !refused && err != nil {
			t.Errorf("%s: refused %t, want %t: %v", name, refused, want, err)
		}
	}
}

func TestEndpointsSecretsAreChosen(t *testing.T) {
	t.Parallel()
	has := func(right string, args ...string) bool {
		return slices.Contains(granted(t, rendered(t, args...), "controller"), right)
	}
	if has("cluster get secrets") {
		t.Error("it may read all Secrets by default")
	}
	if !has("cluster get secrets", "--set", "rbac.allEndpointSecrets=true") {
		t.Error("allEndpointSecrets has no effect")
	}
	if !has("hooks get secrets signing", "--set", "rbac.endpointSecrets[0].namespace=hooks,rbac.endpointSecrets[0].names={signing}") {
		t.Error("endpointSecrets has no effect")
	}
	if has("cluster get services", "--set", "rbac.allEndpointServices=false") {
		t.Error("allEndpointServices has no effect")
	}
}

func TestUsersGetTheirShareOfHandlerSets(t *testing.T) {
	t.Parallel()
	objects := rendered(t)
	for name, want := range map[string]struct{ roles, verbs []string }{
		"dogear-handlersets-view": {[]string{"view", "edit", "admin"}, []string{"get", "list", "watch"}},
		"dogear-handlersets-edit": {[]string{"edit", "admin"}, []string{"create", "update", "patch", "delete", "deletecollection"}},
	} {
		role := to[rbacv1.ClusterRole](t, find(objects, "ClusterRole", name))
		for _, to := range []string{"view", "edit", "admin"} {
			if got := role.Labels["rbac.authorization.k8s.io/aggregate-to-"+to] == "true"; got != slices.Contains(want.roles, to) {
				t.Errorf("%s goes to %s: %t", name, to, got)
			}
		}
		if len(role.Rules) != 1 || !slices.Equal(role.Rules[0].Verbs, want.verbs) || role.Rules[0].Resources[0] != "handlersets" {
			t.Errorf("%s: %v", name, role.Rules)
		}
	}
}

// In namespaces nothing aggregates: users are bound to Roles, one of which has all that they need.
func TestUsersGetTheirShareInNamespaces(t *testing.T) {
	t.Parallel()
	roles := func(set string) (names []string, rights map[string][]string) {
		rights = map[string][]string{}
		for _, role := range rolesOf(t, rendered(t, "--set", "namespaced.enabled=true,namespaced.namespaces={a,b}", "--set", set)) {
			if !strings.Contains(role.Name, "handlersets") {
				continue
			}
			name := role.Namespace + "/" + strings.TrimPrefix(role.Name, "dogear-handlersets-")
			names = append(names, name)
			for _, rule := range role.Rules {
				rights[name] = append(rights[name], spread(role.Namespace, rule)...)
			}
		}
		slices.Sort(names)
		return names, rights
	}
	names, rights := roles("")
	if want := []string{"a/edit", "a/view", "b/edit", "b/view"}; !slices.Equal(names, want) {
		t.Fatalf("roles %v: want %v", names, want)
	}
	if got, want := rights["a/view"], []string{
		"a get handlersets.dogear.dev", "a list handlersets.dogear.dev", "a watch handlersets.dogear.dev",
		"a get handlersets/status.dogear.dev", "a list handlersets/status.dogear.dev", "a watch handlersets/status.dogear.dev",
	}; !slices.Equal(got, want) {
		t.Errorf("who looks may %v: want %v", got, want)
	}
	for _, right := range append(rights["b/view"], "b create handlersets.dogear.dev", "b patch handlersets.dogear.dev", "b deletecollection handlersets.dogear.dev") {
		if !slices.Contains(rights["b/edit"], right) {
			t.Errorf("who writes may not %s", right)
		}
	}
	if names, _ := roles("rbac.aggregate.edit=false"); !slices.Equal(names, []string{"a/view", "b/view"}) {
		t.Errorf("without edit: %v", names)
	}
	if names, _ := roles("rbac.aggregate=null"); len(names) > 0 {
		t.Errorf("without both: %v", names)
	}
}

// The hook takes away what the controller could make, and no more.
func TestTheRightsOfUninstall(t *testing.T) {
	t.Parallel()
	rights := granted(t, rendered(t, "--set", "rbac.resources[0].group=cert-manager.io,rbac.resources[0].resource=certificates"), "uninstall")
	want := []string{
		"cluster delete mutatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster delete validatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster get mutatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster get validatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"dogear list deployments.apps", "dogear list pods",
		"dogear patch deployments/scale.apps dogear-controller", "dogear patch deployments/scale.apps dogear-webhook",
		"dogear get configmaps dogear.dev", "dogear delete configmaps dogear.dev",
		"dogear get leases.coordination.k8s.io dogear.dev", "dogear delete leases.coordination.k8s.io dogear.dev",
		"cluster patch clusterhandlersets/status.dogear.dev", "cluster patch handlersets/status.dogear.dev",
		"cluster watch certificates.cert-manager.io", // it has the controller's role
	}
	for _, resource := range []string{"clusterhandlersets.dogear.dev", "handlersets.dogear.dev", "certificates.cert-manager.io"} {
		for _, verb := range []string{"get", "list", "patch"} {
			want = append(want, "cluster "+verb+" "+resource)
		}
	}
	for _, secret := range []string{"dogear.dev-webhook", "dogear.dev-callback", "dogear.dev-callback-tokens"} {
		want = append(want, "dogear delete secrets "+secret) // what is in them is none of its business
	}
	slices.Sort(want)
	if !slices.Equal(rights, want) {
		t.Errorf("it may\n%s\nwant\n%s", strings.Join(rights, "\n"), strings.Join(want, "\n"))
	}
}

// The test reads, and creates as a dry run alone, which no role can say.
func TestTheRightsOfCheck(t *testing.T) {
	t.Parallel()
	rights := granted(t, rendered(t, "--set", "rbac.resources[0].group=cert-manager.io,rbac.resources[0].resource=certificates"), "check")
	want := []string{
		"cluster create certificates.cert-manager.io", "cluster list certificates.cert-manager.io",
		"cluster create subjectaccessreviews.authorization.k8s.io",
		"cluster get customresourcedefinitions.apiextensions.k8s.io clusterhandlersets.dogear.dev",
		"cluster get customresourcedefinitions.apiextensions.k8s.io handlersets.dogear.dev",
		"cluster get mutatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster get validatingwebhookconfigurations.admissionregistration.k8s.io dogear.dev",
		"cluster list clusterhandlersets.dogear.dev", "cluster list handlersets.dogear.dev",
		"cluster list events.events.k8s.io", "cluster list namespaces",
		"dogear create handlersets.dogear.dev",
		"dogear get configmaps dogear.dev", "dogear get configmaps dogear-settings",
		"dogear get leases.coordination.k8s.io dogear.dev", "dogear get services dogear-webhook",
		"dogear list deployments.apps", "dogear list endpointslices.discovery.k8s.io", "dogear list pods",
	}
	slices.Sort(want)
	if !slices.Equal(rights, want) {
		t.Errorf("it may\n%s\nwant\n%s", strings.Join(rights, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheRightsOfMigrate(t *testing.T) {
	t.Parallel()
	rights := granted(t, rendered(t, "--set", "crds.migrate=true"), "migrate")
	var want []string
	for _, resource := range []string{"clusterhandlersets.dogear.dev", "handlersets.dogear.dev"} {
		for _, verb := range []string{"get", "list", "patch"} {
			want = append(want, "cluster "+verb+" "+resource)
		}
		want = append(want, "cluster get customresourcedefinitions.apiextensions.k8s.io "+resource,
			"cluster patch customresourcedefinitions/status.apiextensions.k8s.io "+resource)
	}
	slices.Sort(want)
	if !slices.Equal(rights, want) {
		t.Errorf("it may\n%s\nwant\n%s", strings.Join(rights, "\n"), strings.Join(want, "\n"))
	}
}
