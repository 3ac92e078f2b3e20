package uninstall

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

// never is a set that was never in force, as it lacks rights or is not allowed.
func (b *bench) never(kind, name, resource string) *unstructured.Unstructured {
	b.Helper()
	u := b.set(kind, name, resource)
	b.patch(u, `{"metadata":{"finalizers":null}}`)
	return u
}

func (b *bench) patch(u *unstructured.Unstructured, text string) {
	b.Helper()
	if err := b.admin.Patch(b.Context(), u, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		b.Fatal(err)
	}
}

// Whoever may create sets could else hold up that the service is removed.
func TestSetsThatWereNeverInForce(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 2)
	b.never("HandlerSet", "of-a-tenant", "widgets.test.dogear.dev")
	b.never("ClusterHandlerSet", "refused", "services")
	held := b.many(widget, 1)
	result, err := b.uninstallAs(t.Context(), b.account(clusterRights, namespaceRights, nil))
	if err != nil || b.held(strict) > 0 || len(b.own()) > 0 {
		t.Fatalf("got %v, %v", err, result.Left)
	}
	wantText(t, strings.Join(result.Notes, "\n"),
		"services was not looked through, and need not be, as only sets that were never in force name it: its objects cannot be listed: rights are missing: user ",
		"widgets.test.dogear.dev was not looked through, and need not be")
	// With the rights it is looked through all the same.
	b.must()
	b.finalizers(held[0])
}

// Nothing is touched where rights are missing for what a ledger or a set names that
// is in force, whatever tells it.
func TestRightsAreLookedAtFirst(t *testing.T) {
	for name, prepare := range map[string]func(*bench){
		"ledger":    func(b *bench) { b.installed(strict, widget) },
		"finalizer": func(b *bench) { b.installed(strict); b.set("HandlerSet", "held", "widgets.test.dogear.dev") },
		"status": func(b *bench) {
			b.installed(strict)
			u := b.never("ClusterHandlerSet", "listed", "widgets.test.dogear.dev")
			status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"handlers":[{"id":"h","phase":"Active"}]}}`))
			if err := b.admin.Status().Patch(b.Context(), u, status); err != nil {
				b.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			prepare(b)
			b.many(strict, 1)
			b.many(widget, 1)
			d, pod := b.deployed(installation.ComponentController)
			b.delete(pod)
			config := b.account(clusterRights, namespaceRights, nil)
			for _, dry := range []bool{false, true} {
				result, err := b.uninstallAs(t.Context(), config, func(o *Options) { o.DryRun = dry })
				if !errors.Is(err, ErrRights) || len(result.Deleted)+len(result.Stopped) > 0 {
					t.Fatalf("got %v, %+v", err, result)
				}
				wantLeft(t, result.Left, "widgets.test.dogear.dev: its objects cannot be listed: rights are missing: user ")
				wantText(t, strings.Join(result.Notes, "\n"), "dogear rbac widgets.test.dogear.dev | kubectl apply -f -")
			}
			if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil || replicas(d) == 0 || len(b.own()) != 5 || b.held(strict) != 1 {
				t.Errorf("something was changed: %v, %d, %q", err, replicas(d), b.own())
			}
			for _, c := range b.configurations() {
				if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
					t.Error(err)
				}
			}

			result, err := b.uninstallAs(t.Context(), config, func(o *Options) { o.Incomplete = true })
			if !errors.Is(err, ErrLeft) || b.held(strict) > 0 || b.held(widget) != 1 || len(b.own()) != 5 {
				t.Errorf("got %v, %v", err, b.own())
			}
			wantLeft(t, result.Left, "widgets.test.dogear.dev: its objects cannot be listed")
			more := append(slices.Clone(clusterRights), rule("test.dogear.dev", "widgets", nil, "get", "list", "patch"))
			if result, err := b.uninstallAs(t.Context(), b.account(more, namespaceRights, nil)); err != nil || b.held(widget) > 0 || len(b.own()) > 0 {
				t.Errorf("got %v, %v", err, result.Left)
			}
		})
	}
}

// In some namespaces, the rights are told for each.
func TestRightsInNamespacesAreLookedAtFirst(t *testing.T) {
	b, other := newBench(t), newBench(t)
	b.installed(strict)
	handlerSets := []rbacv1.PolicyRule{rule("dogear.dev", "handlersets", nil, "get", "list", "patch")}
	config := b.account(nil, namespaceRights, map[string][]rbacv1.PolicyRule{
		b.namespace:     append(slices.Clone(handlerSets), rule("test.dogear.dev", "stricts", nil, "get", "list", "patch")),
		other.namespace: handlerSets,
	})
	result, err := b.uninstallAs(t.Context(), config, func(o *Options) { o.Namespaces = []string{b.namespace, other.namespace} })
	if !errors.Is(err, ErrRights) {
		t.Fatalf("got %v", err)
	}
	wantLeft(t, result.Left, "stricts.test.dogear.dev "+other.namespace+"/: its objects cannot be listed")
	wantText(t, strings.Join(result.Notes, "\n"), "dogear rbac stricts.test.dogear.dev --namespace-role="+other.namespace+" | kubectl apply -f -")
}

// A service that has worked in the whole cluster, or in more namespaces, has left
// more than those that were named would tell.
func TestALedgerOfMoreThanTheNamespaces(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	objects := b.many(strict, 1)
	enter := func(id string) {
		ledger := &corev1.ConfigMap{}
		if err := b.admin.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: installation.Name}, ledger); err != nil {
			t.Fatal(err)
		}
		ledger.Data["ledger.json"] = `{"handlers":{"` + b.namespace + `/mine/h":"2020-01-01T00:00:00Z","` + id + `":"2020-01-01T00:00:00Z"},"kinds":["Strict.v1.test.dogear.dev"]}`
		if err := b.admin.Update(t.Context(), ledger); err != nil {
			t.Fatal(err)
		}
	}
	confined := func(o *Options) { o.Namespaces = []string{b.namespace} }
	enter("certificates/h")
	result, err := b.uninstall(confined)
	if err == nil || len(result.Deleted) > 0 {
		t.Fatalf("got %v, %v", err, result.Deleted)
	}
	wantText(t, err.Error(), "the handler certificates/h of a ClusterHandlerSet", "run this without --namespaces")
	b.finalizers(objects[0], ours)

	enter("elsewhere/theirs/h")
	result = b.must(confined)
	b.finalizers(objects[0])
	wantText(t, strings.Join(result.Notes, "\n"), "The ledger, the ConfigMap "+b.namespace+"/dogear.dev, stays", "not looked into: elsewhere.")
	if have := b.own(); len(have) != 1 {
		t.Errorf("got %q", have)
	}
	b.must()
	if have := b.own(); len(have) > 0 {
		t.Errorf("got %q", have)
	}
}
