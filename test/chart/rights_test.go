package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// grant is the least part of a rule: one verb for one resource, or for one
// object of it.
type grant struct{ role, group, resource, name, verb string }

func (g grant) String() string {
	text := fmt.Sprintf("%s: %s of %s", g.role, g.verb, strings.TrimSuffix(g.resource+"."+g.group, "."))
	if g.name != "" {
		text += " " + g.name
	}
	return text
}

// grants are the parts of rules.
func grants(role string, rules []rbacv1.PolicyRule) (all []grant) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						all = append(all, grant{role, group, resource, name, verb})
					}
				}
			}
		}
	}
	return all
}

// allows tells whether a request needs no other right.
func (g grant) allows(e event) bool {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return g.verb == e.Verb && g.group == e.ObjectRef.APIGroup && g.resource == resource &&
		(g.name == "" || g.name == e.ObjectRef.Name)
}

// granted are the grants of the roles that are bound to an account of the
// release, but for those of handled resources.
func (b *bench) granted(account string) (all []grant) {
	b.Helper()
	clusterwide, namespaced := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	for _, list := range []client.ObjectList{clusterwide, namespaced} {
		if err := b.admin.List(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
	is := func(s rbacv1.Subject) bool { return s.Namespace == namespace && s.Name == account }
	for _, binding := range clusterwide.Items {
		role := &rbacv1.ClusterRole{}
		if slices.ContainsFunc(binding.Subjects, is) {
			if err := b.admin.Get(b.Context(), client.ObjectKey{Name: binding.RoleRef.Name}, role); err != nil {
				b.Fatal(err)
			}
			if role.AggregationRule == nil {
				all = append(all, grants("ClusterRole "+role.Name, role.Rules)...)
			}
		}
	}
	for _, binding := range namespaced.Items {
		role := &rbacv1.Role{}
		if slices.ContainsFunc(binding.Subjects, is) {
			if err := b.admin.Get(b.Context(), client.ObjectKey{Namespace: binding.Namespace, Name: binding.RoleRef.Name}, role); err != nil {
				b.Fatal(err)
			}
			all = append(all, grants("Role "+role.Name, role.Rules)...)
		}
	}
	return all
}

// TestEachRightIsNeededAndNoneIsMissing: the accounts of the release are at
// work, and the API server's audit log says what for. A request that is refused
// fails the test, and so does the least part of a rule without which no request
// would be refused: to take any part of a rule away fails it as well.
func TestEachRightIsNeededAndNoneIsMissing(t *testing.T) {
	b := newBench(t)
	values := []string{"--set=callback.enabled=true", "--set-json=" + `rbac.endpointSecrets=[{"namespace":"` + b.objects + `","names":["signing"]}]`}
	b.install(values...)
	b.work()
	b.renew()
	// Where a watch cannot stream what is there already, that is listed first.
	list := `extraEnv=[{"name":"KUBE_FEATURE_WatchListClient","value":"false"}]`
	b.upgrade(append(values, "--set-json=controller."+list, "--set-json=webhook."+list)...)
	b.checks("controller", "webhook")
	accounts := []string{"dogear-controller", "dogear-webhook"}
	var all []grant
	for _, account := range accounts {
		all = append(all, b.granted(account)...)
	}

	events := b.audited()
	for _, e := range events {
		if e.account() != "" && !e.allowed() {
			t.Errorf("%s was refused: %s %s", e.account(), e.Verb, e.RequestURI)
		}
	}
	needed := map[grant]bool{}
	for _, e := range events {
		if !slices.Contains(accounts, e.account()) {
			continue
		}
		var by []grant
		for _, g := range all {
			if strings.HasSuffix(g.role, e.account()) || strings.Contains(g.role, "endpoint") {
				if g.allows(e) {
					by = append(by, g)
				}
			}
		}
		if len(by) == 1 {
			needed[by[0]] = true
		}
	}
	for _, g := range all {
		if !needed[g] {
			t.Errorf("nothing needed %s", g)
		}
		if g.verb == "*" || g.resource == "*" || g.group == "*" {
			t.Errorf("%s is more than anybody can check", g)
		}
	}
}

// work has the service do all that it does.
func (b *bench) work() {
	b.Helper()
	e := b.endpoint("hook", nil)
	signing := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.objects, Name: "signing"},
		StringData: map[string]string{v1alpha1.SigningKey: "whsec_" + strings.Repeat("c2VjcmV0", 8)},
	}
	if err := b.admin.Create(b.Context(), signing); err != nil {
		b.Fatal(err)
	}
	// A condition in .status, a payload, and later outcomes that are offered.
	handler := "{id: myapp, causes: [Create, Update, Delete], status: {condition: true}, http: " +
		strings.TrimSuffix(e.http(), "}") + ", secretRef: {name: signing}}}"
	s := b.set("certificates", "handlers:\n- "+handler+"\n")
	web := b.certificate("web")
	b.await("Succeeded", web)
	b.delete(web)
	b.eventually(func() error { return b.isGone(web) })
	_, validating := b.configurations()
	validating.Webhooks[0].TimeoutSeconds = new(int32(29)) // which is repaired when the sets have changed
	if err := b.admin.Update(b.Context(), validating); err != nil {
		b.Fatal(err)
	}
	mine := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: b.objects, Name: "mine"}, Spec: *s.Spec.DeepCopy()}
	mine.Spec.Handlers[0].HTTP.Service.Namespace = ""
	mine.Spec.Handlers[0].ID = "tenant"
	if err := b.admin.Create(b.Context(), mine); err != nil {
		b.Fatal(err)
	}
	b.awaitReady(mine)
	// An event, and the same again.
	e.become(func(call) v1alpha1.HandlerReviewResponse {
		return v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeFailed, Message: "no"}
	})
	bad := b.certificate("bad")
	for range 3 {
		b.await("Failed", bad)
		calls := len(e.of("bad"))
		if err := b.admin.Patch(b.Context(), bad, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"dogear.dev/retry":"*"}}}`))); err != nil {
			b.Fatal(err)
		}
		b.eventually(func() error {
			if len(e.of("bad")) == calls {
				return fmt.Errorf("no call after the retry was asked for")
			}
			return nil
		})
	}
	b.await("Failed", bad)
	// A handler that is no more is struck off the ledger, and the sets go.
	b.delete(mine)
	b.eventually(func() error { return b.isGone(mine) })
	b.delete(s)
	b.eventually(func() error { return b.isGone(s) })
}

// renew has certificates that are lost issued again.
func (b *bench) renew() {
	b.Helper()
	names := []string{"dogear.dev-webhook", "dogear.dev-callback"}
	secret := &corev1.Secret{}
	for _, name := range names {
		b.eventually(func() error {
			return b.admin.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret)
		})
		secret.Data[cert.KeyCertificate] = []byte("lost")
		if err := b.admin.Update(b.Context(), secret); err != nil {
			b.Fatal(err)
		}
	}
	b.restart("dogear-controller")
	for _, name := range names {
		b.eventually(func() error {
			if err := b.admin.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
				return err
			}
			_, err := cert.Parse(secret.Data)
			return err
		})
	}
}
