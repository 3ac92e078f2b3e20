package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// serve runs the service itself, outside of the cluster, with a webhook. Its
// endpoints do not answer, so that what is deleted waits.
func (b *bench) serve() (stop func()) {
	b.Helper()
	address, err := rig.FreeAddress()
	if err != nil {
		b.Fatal(err)
	}
	settings := config.Default()
	settings.Namespace = b.namespace
	settings.MetricsAddress, settings.HealthAddress = "", ""
	settings.LeaseDuration, settings.RenewDeadline, settings.RetryPeriod = 3*time.Second, 2*time.Second, 500*time.Millisecond
	settings.Webhook.Address, settings.Webhook.URL, settings.Webhook.LameDuck = address, "https://"+address, -1
	settings.AllowLoopback, settings.URLPrefixes = true, []string{"https://127.0.0.1:1/"}
	service, err := sets.New(sets.Options{Settings: settings, Config: b.account(serviceRights, nil, nil), Log: rigtest.Log(b.T)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Start(ctx) }()
	return func() {
		b.Helper()
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("the service ended with: %v", err)
		}
	}
}

// serviceRights let it do everything.
var serviceRights = []rbacv1.PolicyRule{rule("*", "*", nil, "*")}

func (b *bench) awaitFinalizer(u *unstructured.Unstructured) {
	b.Helper()
	rigtest.Eventually(b, settle, func() error {
		if fresh := b.live(u); fresh == nil || !slices.Contains(fresh.GetFinalizers(), ours) || fresh.GetAnnotations()["dogear.dev/state"] == "" {
			return fmt.Errorf("%s is not stamped", u.GetName())
		}
		return nil
	})
}

// From beginning to end with the service itself: while it runs nothing is
// removed behind its back, and afterwards nothing waits for it.
func TestTheServiceItself(t *testing.T) {
	b := newBench(t)
	stop := b.serve()
	set := b.set("ClusterHandlerSet", "lifelong", "stricts.test.dogear.dev")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"handlers":[{"id":"h","causes":["Create","Delete"],"http":{"url":"https://127.0.0.1:1/"}}]}}`))
	if err := b.admin.Patch(t.Context(), set, patch); err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for i := range 20 {
		objects = append(objects, b.object(strict, fmt.Sprintf("handled-%02d", i)))
	}
	b.create(objects...)
	for _, u := range objects {
		b.awaitFinalizer(u)
	}
	configurations := b.configurations()
	rigtest.Eventually(t, settle, func() error {
		for _, c := range configurations {
			if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
				return err
			}
		}
		if n := len(configurations[0].(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks); n == 0 {
			return errors.New("the configuration is empty")
		}
		return nil
	})
	for _, u := range objects[:5] {
		b.delete(u)
	}

	var running *StillRunningError
	if result, err := b.uninstall(); !errors.As(err, &running) || len(result.Resources) > 0 {
		t.Fatalf("while it runs: %v, %+v", err, result)
	}
	if b.held(strict) != 20 {
		t.Errorf("%d are held", b.held(strict))
	}
	stop()
	result := b.must(func(o *Options) { o.RemoveMarkers = true })
	if have := result.of("stricts.test.dogear.dev"); have.Released != 20 || have.Cleaned != 20 || result.Unfinished.Total != 5 {
		t.Errorf("got %+v, %+v", have, result.Unfinished)
	}
	for i, u := range objects {
		fresh := b.live(u)
		if (fresh == nil) != (i < 5) || fresh != nil && len(fresh.GetAnnotations())+len(fresh.GetFinalizers()) > 0 {
			t.Errorf("%s is %v", u.GetName(), fresh)
		}
	}
	b.finalizers(set)
	if own := b.own(); len(own) > 0 {
		t.Errorf("still there: %q", own)
	}
	for _, c := range b.configurations() {
		b.gone(c)
	}
	b.delete(set)
	if b.live(set) != nil {
		t.Error("the set waits for something")
	}
	if err := b.admin.Create(t.Context(), b.object(strict, "afterwards")); err != nil {
		t.Error(err)
	}
	b.made = append(b.made, b.object(strict, "afterwards"))
}

// A move: the state is kept, and the installation that goes on elsewhere, with
// the ledger copied, takes it up where it was.
func TestAMove(t *testing.T) {
	b := newBench(t)
	stop := b.serve()
	set := b.set("ClusterHandlerSet", "moved", "stricts.test.dogear.dev")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"existing":"Adopt","handlers":[{"id":"h","causes":["Create","Delete"],"http":{"url":"https://127.0.0.1:1/"}}]}}`))
	if err := b.admin.Patch(t.Context(), set, patch); err != nil {
		t.Fatal(err)
	}
	u := b.object(strict, "kept")
	b.create(u)
	b.awaitFinalizer(u)
	ledger := &corev1.ConfigMap{}
	rigtest.Eventually(t, settle, func() error {
		return b.admin.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: installation.Name}, ledger)
	})
	stop()
	b.must(func(o *Options) { o.KeepState = true })
	b.finalizers(u, ours)
	b.finalizers(set, sets.Cleanup)

	next := newBench(t)
	copied := ledger.DeepCopy()
	copied.ObjectMeta = metav1.ObjectMeta{Namespace: next.namespace, Name: installation.Name}
	if err := b.admin.Create(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	stop = next.serve()
	b.delete(u)
	rigtest.Eventually(t, settle, func() error {
		fresh := b.live(u)
		if fresh == nil {
			return errors.New("it was let go")
		}
		if a := fresh.GetAnnotations()["dogear.dev/progress"]; !slices.Contains(fresh.GetFinalizers(), ours) || !strings.Contains(a, `"cause":"Delete"`) {
			return fmt.Errorf("its deletion is not handled: %s", a)
		}
		return nil
	})
	after := &corev1.ConfigMap{}
	if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(copied), after); err != nil || after.Data["ledger.json"] != ledger.Data["ledger.json"] {
		t.Errorf("the ledger became %v: %v", after.Data, err)
	}
	stop()
	next.must()
	if b.live(u) != nil {
		t.Error("the object is still there")
	}
}
