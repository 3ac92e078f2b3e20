package uninstall

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

// An empty name would be all namespaces.
func TestNamesThatAreNoNamespaces(t *testing.T) {
	for _, wrong := range []string{"", " ", "a,b", "Shop", "a.b", strings.Repeat("a", 64)} {
		names := []string{"shop", wrong}
		result, err := Run(t.Context(), Options{Config: &rest.Config{}, Namespaces: names})
		if err == nil || result != nil || !strings.Contains(err.Error(), "is no name of a namespace") {
			t.Errorf("%q: got %+v, %v", wrong, result, err)
		}
		if CheckNamespaces(names) == nil {
			t.Errorf("%q is taken for a name", wrong)
		}
	}
	if err := CheckNamespaces([]string{"shop", "bank-2"}); err != nil {
		t.Error(err)
	}
}

// confinedTo makes a Deployment of the controller, at 0, whose settings file names
// namespaces; none: it works in the whole cluster.
func (b *bench) confinedTo(namespaces ...string) *appsv1.Deployment {
	b.Helper()
	file := "webhook: {service: dogear-webhook}\n"
	if len(namespaces) > 0 {
		file = "namespaces: [" + strings.Join(namespaces, ", ") + "]\n"
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "my-settings"}, Data: map[string]string{"settings.yaml": file}}
	labels := map[string]string{installation.ComponentLabel: installation.ComponentController}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "my-controller", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{
					Name: "dogear", Image: "dogear", Args: []string{"run", "--config=/etc/dogear/settings.yaml"},
					VolumeMounts: []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/dogear"}},
				}},
				Volumes: []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: settings.Name}},
				}}},
			}},
		},
	}
	if err := b.admin.Create(b.Context(), settings); err != nil {
		b.Fatal(err)
	}
	if err := b.admin.Create(b.Context(), d); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = b.admin.Delete(context.Background(), d) })
	return d
}

// What is left in a namespace that was not named could never be deleted, and the
// ledger, which knows of it, would be gone.
func TestNamespacesThatAreNotThoseOfTheService(t *testing.T) {
	other, elsewhere := newBench(t), newBench(t)
	for name, c := range map[string]struct {
		works func(own string) []string
		given func(own string) []string
		want  string
	}{
		"the whole cluster": {
			func(string) []string { return nil }, func(own string) []string { return []string{own} },
			"works in the whole cluster: run this without --namespaces",
		},
		"one is left out": {
			func(own string) []string { return []string{own, other.namespace} }, func(own string) []string { return []string{own} },
			"works in " + other.namespace + ", too, where objects would be left that nobody could delete: name all of its namespaces, --namespaces=",
		},
		"another one": {
			func(own string) []string { return []string{own} }, func(string) []string { return []string{other.namespace} },
			", too, where objects would be left",
		},
		"a typing error beside it": {
			func(own string) []string { return []string{own} }, func(own string) []string { return []string{own, "no-such-one"} },
			`there is no namespace "no-such-one"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.installed(strict)
			b.many(strict, 1)
			b.confinedTo(c.works(b.namespace)...)
			result, err := b.uninstall(func(o *Options) { o.Namespaces = c.given(b.namespace) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if b.held(strict) != 1 || len(b.own()) != 5 || len(result.Deleted) > 0 {
				t.Errorf("something was changed: %+v, %q", result, b.own())
			}
		})
	}
	t.Run("all of them", func(t *testing.T) {
		b := newBench(t)
		b.installed(strict)
		b.many(strict, 1)
		other.many(strict, 1)
		elsewhere.many(strict, 1)
		b.confinedTo(b.namespace, other.namespace, "gone-by-now")
		result := b.must(func(o *Options) { o.Namespaces = []string{other.namespace, b.namespace, "gone-by-now", b.namespace} })
		if n := b.held(strict); n != 1 || len(b.own()) > 0 || result.of("stricts.test.dogear.dev").Objects != 2 {
			t.Errorf("%d are held, want that elsewhere alone; got %+v, %q", n, result, b.own())
		}
		var text strings.Builder
		if err := result.WriteText(&text); err != nil || !strings.Contains(text.String(), "\nDone: nothing in the namespaces ") {
			t.Errorf("%v: got %s", err, text.String())
		}
	})
}

// Where the service is gone nothing tells its namespaces, which is said; but a
// namespace that isn't there is a typing error.
func TestNamespacesOfAServiceThatIsGone(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	_, err := b.uninstall(func(o *Options) { o.Namespaces = []string{"no-such-one"} })
	if err == nil || !strings.Contains(err.Error(), `there is no namespace "no-such-one"`) || len(b.own()) != 5 {
		t.Errorf("got %v, %q", err, b.own())
	}
	result := b.must(func(o *Options) { o.Namespaces = []string{b.namespace} })
	wantText(t, strings.Join(result.Notes, "\n"), "other namespaces than "+b.namespace+" stays")
	if b.held(strict) > 0 {
		t.Error("the object is still held")
	}
}

// Rights in the namespaces suffice, and to read the settings is one of them.
func TestRightsToCompareNamespaces(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	b.confinedTo(b.namespace)
	rules := append(slices.Clone(namespaceRights), rule("dogear.dev", "handlersets", nil, "get", "list", "patch"), rule("test.dogear.dev", "stricts", nil, "get", "list", "patch"))
	confined := func(o *Options) { o.Namespaces = []string{b.namespace} }
	_, err := b.uninstallAs(t.Context(), b.account(nil, rules, nil), confined)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "compare --namespaces with those in which Dogear works: read the ConfigMap "+b.namespace+"/my-settings") {
		t.Errorf("got %v", err)
	}
	if b.held(strict) != 1 || len(b.own()) != 5 {
		t.Error("something was changed")
	}
	rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"my-settings"}, Verbs: []string{"get"}})
	if _, err := b.uninstallAs(t.Context(), b.account(nil, rules, nil), confined); err != nil || b.held(strict) > 0 {
		t.Errorf("got %v", err)
	}
}

// A namespace in which Dogear works no more is released by itself, and the Dogear
// that works in others goes on.
func TestANamespaceThatWasTakenOut(t *testing.T) {
	b, left := newBench(t), newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	b.leadsTo(b.namespace, "dogear-webhook")
	d := b.released("only")
	left.many(strict, 2)
	set := left.set("HandlerSet", "mine", "stricts.test.dogear.dev")
	left.delete(set)
	result := left.must(func(o *Options) { o.Namespaces = []string{left.namespace} })
	if b.held(strict) != 1 || len(b.own()) != 5 || b.replicasOf(d) != 1 || len(result.Deleted) > 0 {
		t.Errorf("%d are held, want that of the other alone; got %+v", b.held(strict), result)
	}
	if left.live(set) != nil {
		t.Error("the set is still there")
	}
	for _, c := range b.configurations() {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			t.Errorf("the configurations of the other: %v", err)
		}
	}
}
