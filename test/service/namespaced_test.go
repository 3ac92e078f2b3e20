package service

import (
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// namespacedRights are all that a service needs that works in one namespace.
func namespacedRights(namespace string) rig.Rights {
	return rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{namespace: {
		{APIGroups: []string{"dogear.dev"}, Resources: []string{"handlersets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{"dogear.dev"}, Resources: []string{"handlersets/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		{APIGroups: []string{"cert-manager.io"}, Resources: []string{"certificates"}, Verbs: []string{"get", "list", "watch", "patch"}},
	}}}
}

// lines are what was logged.
type lines struct {
	out logr.Logger

	mu  sync.Mutex
	all []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(name, text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, name+" "+text)
		l.out.Info(name + " " + text)
	}, funcr.Options{Verbosity: 1})
}

func (l *lines) with(part string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return found
}

func TestAServiceWithoutRightsInTheCluster(t *testing.T) {
	b := newBench(t)
	account, err := b.cp.ServiceAccountConfig(t.Context(), b.namespace, "confined", namespacedRights(b.namespace))
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{out: rigtest.Log(t)}
	b.start(func(o *setsOptions) {
		o.Config, o.Log = account, log.logger()
		o.Settings.Namespaces, o.Settings.LeaderElect = []string{b.namespace}, true
		o.Settings.Webhook.URL, o.Settings.Webhook.Address = "", ""
	})
	e := b.endpoint("hook", nil)
	handlers := "handlers:\n- {id: h, causes: [Create, Delete], http: " + e.local() + "}\n"
	s := b.namespaced("mine", "certificates.v1.cert-manager.io", handlers)
	b.awaitReady(s)

	// What is elsewhere is not its business, nor what counts everywhere.
	elsewhere := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: rigtest.Namespace(t), Name: "foreign"}, Spec: s.Spec}
	everywhere := &v1alpha1.ClusterHandlerSet{ObjectMeta: metav1.ObjectMeta{Name: "everywhere"}, Spec: b.spec("certificates.v1.cert-manager.io",
		"handlers:\n- {id: g, causes: [Create], http: "+e.http()+"}\n")}
	for _, foreign := range []v1alpha1.AnySet{elsewhere, everywhere} {
		if err := b.admin.Create(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
	}
	web := b.certificate("web")
	b.await(web, "Succeeded")
	if !b.holds(web) {
		t.Error("there is no finalizer for the Delete handler")
	}
	b.delete(web)
	b.eventually(func() error { return b.isGone(web) })
	if calls := e.calls(); len(calls) != 2 || calls[1].Cause != v1alpha1.CauseDelete {
		t.Errorf("calls %q", texts(calls))
	}

	left := b.certificate("left")
	b.await(left, "Succeeded")
	b.delete(s)
	b.eventually(func() error { return b.isGone(s) })
	if ours := b.ours(left); len(ours) > 0 || b.holds(left) {
		t.Errorf("left: %v", b.get(left))
	}
	for _, foreign := range []v1alpha1.AnySet{elsewhere, everywhere} {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
			t.Fatal(err)
		}
		if len(foreign.GetFinalizers()) > 0 || len(foreign.Observed().Conditions) > 0 {
			t.Errorf("%s: %v %+v", foreign.GetName(), foreign.GetFinalizers(), foreign.Observed())
		}
	}
	// What it may not handle, it says with what to apply.
	other := b.namespaced("other", "phaseds.v1.test.dogear.dev", handlers)
	_, roles, _ := strings.Cut(b.awaitCondition(other, v1alpha1.ConditionPermitted, metav1.ConditionFalse, "RightsMissing").Message, "\n")
	for _, manifest := range strings.Split(roles, "---\n") {
		b.apply(manifest)
	}
	b.awaitReady(other)
	if refused := log.with("forbidden"); len(refused) > 0 {
		t.Errorf("it asked for what it has no right to:\n%s", strings.Join(refused, "\n"))
	}
}
