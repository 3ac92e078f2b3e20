package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/controller/uninstall"
)

// later has a handler called again in a while.
func later(call) v1alpha1.HandlerReviewResponse {
	return v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeWaiting, After: &v1alpha1.Duration{Duration: settle}}
}

// TestLifeOfARelease: installed, at work, upgraded, rolled back and
// uninstalled, it leaves nothing that anybody would stumble over.
func TestLifeOfARelease(t *testing.T) {
	b := newBench(t)
	b.install()
	e := b.endpoint("hook", nil)
	s := b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Update, Delete], http: "+e.http()+"}\n")
	first := b.certificates("first", 10)
	b.await("Succeeded", first...)
	for _, u := range first {
		if fresh, err := b.get(u); err != nil || !holds(fresh) {
			t.Errorf("%s has no finalizer: %v", u.GetName(), err)
		}
	}
	b.checks("refuses a wrong set", "stamps", "resources", "leader")

	b.upgrade("--set=controller.replicas=2,webhook.replicas=3,settings.workers=32")
	b.eventually(func() error { // once those of before are gone
		if c, w := len(b.pods("controller")), len(b.pods("webhook")); c != 2 || w != 3 {
			return fmt.Errorf("%d controllers, %d webhooks", c, w)
		}
		return nil
	})
	second := b.certificates("second", 10)
	b.await("Succeeded", second...)

	b.helm("rollback", release, "1", "--wait", "--timeout", helmTimeout)
	third := b.certificates("third", 10)
	b.await("Succeeded", third...)
	all := slices.Concat(first, second, third)
	for _, u := range all {
		if calls := e.of(u.GetName()); len(calls) != 1 {
			t.Errorf("%s: calls %+v", u.GetName(), calls)
		}
	}

	// One object is on its way out when everything ends.
	e.become(later)
	b.delete(first[0])
	b.eventually(func() error {
		if n := len(e.of(first[0].GetName())); n < 2 {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	b.uninstall()

	if err := b.isGone(first[0]); err != nil {
		t.Error(err)
	}
	for _, u := range all[1:] {
		fresh, err := b.get(u)
		if err != nil || holds(fresh) {
			t.Errorf("%s: %v %v", u.GetName(), fresh.GetFinalizers(), err)
		} else if stateOf(fresh) != "Succeeded" {
			t.Errorf("%s: its marker is gone, which was not asked for", u.GetName())
		}
	}
	b.leftNothing()
	// The sets stay as they were written, and hold up nobody.
	if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil || slices.Contains(s.Finalizers, sets.Cleanup) {
		t.Errorf("the set: %v %v", s.Finalizers, err)
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != uninstall.Uninstalled {
		t.Errorf("the set says %+v, though nothing puts it in force", c)
	}
	b.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	b.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.objects}})
	for _, name := range []string{"clusterhandlersets.dogear.dev", "handlersets.dogear.dev"} {
		b.delete(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.objects}},
		&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "clusterhandlersets.dogear.dev"}},
		&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "handlersets.dogear.dev"}},
	} {
		b.eventually(func() error { return b.isGone(o) })
	}
}

// leftNothing checks that nothing of a release is left but its CRDs.
func (b *bench) leftNothing() {
	b.Helper()
	for _, o := range webhookConfigurations {
		o := o.DeepCopyObject().(client.Object)
		o.SetName("dogear.dev")
		if err := b.isGone(o); err != nil {
			b.Error(err)
		}
	}
	for _, component := range []string{"controller", "webhook"} {
		b.eventually(func() error {
			if pods := b.pods(component); len(pods) > 0 {
				return fmt.Errorf("%d Pods of the %s are left", len(pods), component)
			}
			return nil
		})
	}
	for _, list := range []string{"ConfigMapList", "SecretList", "ServiceAccountList"} {
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(list))
		if err := b.admin.List(b.Context(), all, client.InNamespace(namespace)); err != nil {
			b.Error(err)
		}
		for i := range all.Items {
			name := all.Items[i].GetName()
			foreign := name == "kube-root-ca.crt" || name == "default" || strings.HasPrefix(name, "sh.helm.release.v1.crds.")
			if !foreign {
				b.Errorf("%s %s is left", all.Items[i].GetKind(), name)
			}
		}
	}
}

// checks runs helm test, which must have found that certain checks are well,
// and none that isn't.
func (b *bench) checks(names ...string) {
	b.Helper()
	b.helm("test", release, "--timeout", helmTimeout)
	text := strings.Join(b.log(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: release + "-check"}}, "check"), "\n")
	for _, name := range names {
		if !strings.Contains(text, "\n  ok   "+name+": ") {
			b.Errorf("check %q has not found that all is well:\n%s", name, text)
		}
	}
}
