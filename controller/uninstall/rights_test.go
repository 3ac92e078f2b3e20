package uninstall

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/test/rig"
)

func rule(group, resource string, names []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names, Verbs: verbs}
}

var named = []string{installation.Name}

// namespaceRights are those in the namespace of the service.
var namespaceRights = []rbacv1.PolicyRule{
	rule("apps", "deployments", nil, "list"),
	rule("apps", "deployments/scale", nil, "patch"),
	rule("", "pods", nil, "list"),
	rule("coordination.k8s.io", "leases", named, "get", "delete"),
	rule("", "configmaps", named, "get", "delete"),
	rule("", "secrets", installation.Secrets(), "delete"),
}

// clusterRights are those for an installation that handles Stricts.
var clusterRights = []rbacv1.PolicyRule{
	rule("admissionregistration.k8s.io", "mutatingwebhookconfigurations", named, "get", "delete"),
	rule("admissionregistration.k8s.io", "validatingwebhookconfigurations", named, "get", "delete"),
	rule("dogear.dev", "clusterhandlersets", nil, "get", "list", "patch"),
	rule("dogear.dev", "handlersets", nil, "get", "list", "patch"),
	rule("test.dogear.dev", "stricts", nil, "get", "list", "patch"),
}

var accounts int

// account is a new one with these rights alone.
func (b *bench) account(cluster, own []rbacv1.PolicyRule, more map[string][]rbacv1.PolicyRule) *rest.Config {
	b.Helper()
	rights := rig.Rights{Cluster: cluster, Namespaced: map[string][]rbacv1.PolicyRule{b.namespace: own}}
	for namespace, rules := range more {
		rights.Namespaced[namespace] = append(slices.Clone(rights.Namespaced[namespace]), rules...)
	}
	accounts++
	config, err := b.cp.ServiceAccountConfig(b.Context(), b.namespace, fmt.Sprintf("uninstall-%d", accounts), rights)
	if err != nil {
		b.Fatal(err)
	}
	return config
}

// The rights that the documentation lists suffice, and each is needed: without
// it the run says which is missing, and what can be released is.
func TestRights(t *testing.T) {
	b := newBench(t)
	prepare := func(b *bench) {
		b.installed(strict)
		b.many(strict, 2)
		b.set("ClusterHandlerSet", "cluster", "stricts.test.dogear.dev")
		b.set("HandlerSet", "namespaced", "stricts.test.dogear.dev")
		_, pod := b.deployed(installation.ComponentController)
		b.delete(pod)
	}
	prepare(b)
	if result, err := b.uninstallAs(t.Context(), b.account(clusterRights, namespaceRights, nil)); err != nil || len(b.own()) > 0 || b.held(strict) > 0 || len(result.Deleted) != 7 {
		t.Fatalf("with all rights: %v, %+v", err, result)
	}
	b.drop()
	all := append(slices.Clone(clusterRights), namespaceRights...)
	inCluster := len(clusterRights)
	for i, r := range all {
		for _, verb := range r.Verbs {
			t.Run("without "+verb+" of "+r.Resources[0], func(t *testing.T) {
				b := newBench(t)
				prepare(b)
				less := slices.Clone(all)
				less[i].Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return v == verb })
				n := inCluster
				if len(less[i].Verbs) == 0 {
					less = slices.Delete(less, i, i+1)
					if i < n {
						n--
					}
				}
				config := b.account(less[:n:n], less[n:], nil)
				config.Wrap(conflictFirst)
				result, err := b.uninstallAs(t.Context(), config)
				if err == nil {
					t.Fatal("it is not needed")
				}
				text := fmt.Sprint(result.Left)
				if !errors.Is(err, ErrLeft) && !errors.Is(err, ErrRights) {
					text = err.Error()
				}
				wantText(t, text, "cannot "+verb+" resource", `"`+r.Resources[0]+`"`)
				if len(b.own()) == 0 {
					t.Error("the ledger went although the run did not succeed")
				}
			})
		}
	}
}

// conflictFirst has each patch of an object fail, as if somebody else had written
// it, until it was read again.
func conflictFirst(rt http.RoundTripper) http.RoundTripper {
	var read sync.Map
	return &wire{RoundTripper: rt, handle: func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
		if _, ok := read.Load(req.URL.Path); !ok && req.Method == http.MethodPatch && !strings.HasSuffix(req.URL.Path, "/scale") {
			return answer(req, &metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict}), nil
		}
		reply, err := pass.RoundTrip(req)
		if err == nil && req.Method == http.MethodGet && reply.StatusCode == http.StatusOK {
			read.Store(req.URL.Path, true)
		}
		return reply, err
	}}
}

// Without rights for one kind its objects are listed, each of them, and those
// of other kinds are released.
func TestAKindWithoutRights(t *testing.T) {
	b := newBench(t)
	b.installed(strict, widget)
	b.many(strict, 12)
	b.many(widget, 12)
	marked := b.object(widget, "marked")
	marked.SetAnnotations(map[string]string{"dogear.dev/state": "Succeeded"})
	b.create(marked)
	cluster := append(slices.Clone(clusterRights), rule("test.dogear.dev", "widgets", nil, "get", "list"))
	config := b.account(cluster, namespaceRights, nil)
	result, err := b.uninstallAs(t.Context(), config, func(o *Options) { o.RemoveMarkers = true })
	if !errors.Is(err, ErrLeft) || len(result.Left) != 13 {
		t.Fatalf("got %v, %v", err, result.Left)
	}
	for i, l := range result.Left[1:] {
		user := fmt.Sprintf(`"system:serviceaccount:%s:uninstall-%d"`, b.namespace, accounts)
		want := Left{Object{"widgets.test.dogear.dev", b.namespace, fmt.Sprintf("widget-%04d", i)},
			`rights are missing: user ` + user + ` cannot patch resource "widgets" in API group "test.dogear.dev" in the namespace "` + b.namespace + `"`}
		if l != want {
			t.Errorf("got %+v, want %+v", l, want)
		}
	}
	if result.Left[0].Name != "marked" || b.held(strict) != 0 || b.held(widget) != 12 {
		t.Errorf("got %+v, %d, %d", result.Left[0], b.held(strict), b.held(widget))
	}

	cluster[len(cluster)-1].Verbs = []string{"get", "patch"}
	result, err = b.uninstallAs(t.Context(), b.account(cluster, namespaceRights, nil), func(o *Options) { o.Incomplete = true })
	if !errors.Is(err, ErrLeft) {
		t.Fatalf("got %v", err)
	}
	wantLeft(t, result.Left, `widgets.test.dogear.dev: its objects cannot be listed: rights are missing: user "system`)
}

// With rights in some namespaces alone, an installation in these is removed.
func TestSomeNamespaces(t *testing.T) {
	b, other, elsewhere := newBench(t), newBench(t), newBench(t)
	b.installed(strict, clusterWide)
	for _, c := range b.configurations() {
		b.delete(c) // such an installation has none
	}
	for _, in := range []*bench{b, other, elsewhere} {
		in.many(strict, 2)
		in.set("HandlerSet", "set", "stricts.test.dogear.dev")
	}
	outside := b.object(clusterWide, "outside", ours)
	cluster := b.set("ClusterHandlerSet", "of-another", "stricts.test.dogear.dev")
	b.create(outside)
	rules := []rbacv1.PolicyRule{rule("dogear.dev", "handlersets", nil, "get", "list", "patch"), rule("test.dogear.dev", "stricts", nil, "get", "list", "patch")}
	config := b.account(nil, namespaceRights, map[string][]rbacv1.PolicyRule{b.namespace: rules, other.namespace: rules})

	_, err := b.uninstallAs(t.Context(), config)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "name them with --namespaces") {
		t.Errorf("got %v", err)
	}
	result, err := b.uninstallAs(t.Context(), config, func(o *Options) { o.Namespaces = []string{b.namespace, other.namespace} })
	if err != nil {
		t.Fatalf("got %v, %v", err, result.Left)
	}
	if n := b.held(strict); n != 2 {
		t.Errorf("%d are held, want those elsewhere alone", n)
	}
	b.finalizers(outside, ours)
	b.finalizers(cluster, "dogear.dev/cleanup")
	b.finalizers(b.made[2])
	b.finalizers(other.made[2])
	elsewhere.finalizers(elsewhere.made[2], "dogear.dev/cleanup")
	if have := result.of("stricts.test.dogear.dev"); have.Objects != 4 || have.Released != 4 || len(b.own()) > 0 {
		t.Errorf("got %+v, %q", have, b.own())
	}
}
