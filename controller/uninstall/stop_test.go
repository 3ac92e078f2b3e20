package uninstall

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

// deployed makes a Deployment of a component, with a Pod as its controller would.
func (b *bench) deployed(component string) (*appsv1.Deployment, *corev1.Pod) {
	b.Helper()
	labels := map[string]string{installation.ComponentLabel: component}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "dogear", Image: "dogear"}}}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "my-" + component, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "default"}}
	_ = b.admin.Create(b.Context(), account) // the first of them
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: d.Name + "-0", Labels: labels}, Spec: spec}
	for _, o := range []client.Object{d, pod} {
		if err := b.admin.Create(b.Context(), o); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = b.admin.Delete(context.Background(), o) })
	}
	return d, pod
}

func (b *bench) replicasOf(d *appsv1.Deployment) int32 {
	b.Helper()
	if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		b.Fatal(err)
	}
	return replicas(d)
}

// Deployments end before an object is touched: a controller would put its
// finalizer back.
func TestTheServiceIsStoppedFirst(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 3)
	controller, pod := b.deployed(installation.ComponentController)
	webhook, webhookPod := b.deployed(installation.ComponentWebhook)
	evicted := pod.DeepCopy()
	evicted.ObjectMeta = metav1.ObjectMeta{Namespace: b.namespace, Name: "evicted", Labels: pod.Labels}
	if err := b.admin.Create(t.Context(), evicted); err != nil {
		t.Fatal(err)
	}
	failed := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`))
	if err := b.admin.Status().Patch(t.Context(), evicted, failed); err != nil {
		t.Fatal(err)
	}
	waited := sync.OnceFunc(func() {
		if b.replicasOf(controller) != 0 || b.replicasOf(webhook) != 0 || b.held(strict) != 3 {
			t.Error("want the Deployments at 0, and the objects untouched")
		}
		for _, c := range b.configurations() {
			b.gone(c)
		}
		b.hooked() // as the controller does at its end
		b.delete(pod)
		b.delete(webhookPod)
	})
	result := b.must(func(o *Options) {
		o.Namespace = "" // it is found
		o.Report = func(e Event) {
			if strings.HasPrefix(e.Text, "Waiting for the end of the Pods "+b.namespace+"/my-controller-0, "+b.namespace+"/my-webhook-0") {
				waited()
			}
		}
	})
	if b.held(strict) != 0 || result.Namespace != b.namespace || strings.Join(result.Stopped, " ") != b.namespace+"/my-controller "+b.namespace+"/my-webhook" {
		t.Errorf("got %+v", result)
	}
	for _, c := range b.configurations() {
		b.gone(c)
	}
}

// A namespace that is not that of the running controller is told, before
// anything is changed.
func TestAControllerInAnotherNamespace(t *testing.T) {
	b, moved := newBench(t), newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	d, pod := moved.deployed(installation.ComponentController)
	b.delete(pod)
	_, err := b.uninstall()
	if err == nil || !strings.Contains(err.Error(), "did you mean -n "+moved.namespace+"?") || b.held(strict) != 1 {
		t.Errorf("got %v", err)
	}
	for _, c := range b.configurations() {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			t.Error(err)
		}
	}
	if err := b.admin.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))); err != nil {
		t.Fatal(err)
	}
	b.must()
}

// Of two releases, the Job of one may not look into the namespace of the other: it
// knows that one by the webhook configurations, and changes nothing.
func TestAnotherReleaseInTheCluster(t *testing.T) {
	b, other := newBench(t), newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	set := b.set("ClusterHandlerSet", "shared", "stricts.test.dogear.dev")
	d, pod := b.deployed(installation.ComponentController)
	b.delete(pod)
	server := other.object(service, "dogear-webhook")
	other.create(server)
	other.leadsTo(server.GetNamespace(), server.GetName())
	job := b.account(clusterRights, namespaceRights, nil)

	for who, config := range map[string]*rest.Config{"the Job": job, "an administrator": b.cp.AdminConfig()} {
		_, err := b.uninstallAs(t.Context(), config)
		if err == nil || !strings.Contains(err.Error(), "leads to the Service "+other.namespace+"/dogear-webhook") || !strings.Contains(err.Error(), "did you mean -n "+other.namespace+"?") {
			t.Errorf("%s got %v", who, err)
		}
	}
	if b.held(strict) != 1 || b.replicasOf(d) != 2 || len(b.own()) != 5 {
		t.Errorf("something was changed: %d are held, %d replicas, %q", b.held(strict), b.replicasOf(d), b.own())
	}
	b.finalizers(set, "dogear.dev/cleanup")
	for _, c := range b.configurations() {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			t.Error(err)
		}
	}

	b.delete(server) // that release is gone, and has left the configurations
	b.must()
	if b.held(strict) > 0 {
		t.Error("the object is still held")
	}
}

// Configurations that lead to the own Service are no other's.
func TestTheOwnServiceIsNoOther(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	server := b.object(service, "dogear-webhook")
	b.create(server)
	b.leadsTo(b.namespace, "dogear-webhook")
	if _, err := b.uninstallAs(t.Context(), b.account(clusterRights, namespaceRights, nil)); err != nil || b.held(strict) > 0 {
		t.Errorf("got %v", err)
	}
	for _, c := range b.configurations() {
		b.gone(c)
	}
}

// A configuration that another release writes while this one ends is not deleted.
func TestAnotherReleaseThatComesMeanwhile(t *testing.T) {
	b, other := newBench(t), newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	b.leadsTo(b.namespace, "dogear-webhook")
	server := other.object(service, "dogear-webhook")
	other.create(server)
	var first sync.Once
	config := b.wired(func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodDelete {
			first.Do(func() { other.leadsTo(other.namespace, "dogear-webhook") })
		}
		return pass.RoundTrip(req)
	})
	_, err := b.uninstallAs(t.Context(), config)
	if err == nil || !strings.Contains(err.Error(), "did you mean -n "+other.namespace+"?") || b.held(strict) != 1 {
		t.Errorf("got %v, %d are held", err, b.held(strict))
	}
}

// leadsTo has the webhook configurations lead to a Service.
func (b *bench) leadsTo(namespace, name string) {
	b.Helper()
	to := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name}}
	for _, c := range b.configurations() {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			b.Fatal(err)
		}
		switch c := c.(type) {
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			c.Webhooks = []admissionregistrationv1.MutatingWebhook{{
				Name: "stamp.dogear.dev", ClientConfig: to, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}}
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			c.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
				Name: "sets.dogear.dev", ClientConfig: to, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}}
		}
		if err := b.admin.Update(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// Whoever scales it up again is told of, and nothing is released meanwhile.
func TestADeploymentThatIsScaledUpAgain(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	d, _ := b.deployed(installation.ComponentController)
	_, err := b.uninstall(func(o *Options) {
		o.Report = func(e Event) {
			if strings.HasPrefix(e.Text, "Waiting for the end of the Pods") {
				if err := b.admin.Patch(t.Context(), d.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if err == nil || !strings.Contains(err.Error(), "my-controller was scaled up again by somebody else") || b.held(strict) != 1 {
		t.Errorf("got %v", err)
	}
}

func TestPodsThatDoNotEnd(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.deployed(installation.ComponentController)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("not done within 2s"))
	defer cancel()
	_, err := b.uninstallAs(ctx, b.cp.AdminConfig())
	if err == nil || !strings.Contains(err.Error(), "not done within 2s: not done yet (the Pods "+b.namespace+"/my-controller-0 have not ended), run this again") {
		t.Errorf("got %v", err)
	}
}

// lead has somebody hold the Lease, for one second at a time.
func (b *bench) lead(holder string) *coordinationv1.Lease {
	b.Helper()
	lease := &coordinationv1.Lease{}
	if err := b.admin.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: installation.Name}, lease); err != nil {
		b.Fatal(err)
	}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(1)), RenewTime: &metav1.MicroTime{Time: time.Now()}}
	if err := b.admin.Update(b.Context(), lease); err != nil {
		b.Fatal(err)
	}
	return lease
}

// A controller outside of the cluster is not run over.
func TestAControllerOutsideOfTheCluster(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 3)
	b.lead("laptop_1")
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				b.lead("laptop_1")
			}
		}
	}()
	_, err := b.uninstall()
	close(stop)
	<-ended
	var running *StillRunningError
	if !errors.As(err, &running) || running.Holder != "laptop_1" || !strings.Contains(err.Error(), b.namespace+"/dogear.dev: stop it, and run this again") {
		t.Errorf("got %v", err)
	}
	if b.held(strict) != 3 || len(b.own()) != 5 {
		t.Error("something was removed")
	}
	b.must() // nobody renews it any more
	if b.held(strict) != 0 {
		t.Error("the objects are still held")
	}
}

func TestALeaseThatIsGivenBack(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	lease := b.lead("laptop_1")
	lease.Spec.LeaseDurationSeconds = new(int32(3600))
	if err := b.admin.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	b.must(func(o *Options) {
		o.Report = func(e Event) {
			if strings.Contains(e.Text, "is held by laptop_1: waiting") {
				b.lead("")
			}
		}
	})
}

// With the state kept, nothing but what works is removed.
func TestStateIsKept(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 3)
	d, pod := b.deployed(installation.ComponentController)
	b.delete(pod)
	result := b.must(func(o *Options) { o.KeepState = true })
	if b.replicasOf(d) != 0 || b.held(strict) != 3 || len(b.own()) != 5 || len(result.Resources) > 0 {
		t.Errorf("got %+v", result)
	}
	for _, c := range b.configurations() {
		b.gone(c)
	}
	wantText(t, strings.Join(result.Notes, "\n"), b.namespace, "the ConfigMap dogear.dev", "dogear.dev-callback-tokens", "docs/uninstall.md")
}

// Where only some namespaces are looked into, another installation's webhook is
// left alone.
func TestConfigurationsOfAnotherInstallation(t *testing.T) {
	for _, c := range []struct {
		name, namespace string
		gone            bool
	}{{"own", "", true}, {"another's", "elsewhere", false}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			namespace := c.namespace
			if namespace == "" {
				namespace = b.namespace
			}
			configuration := b.configurations()[0].(*admissionregistrationv1.MutatingWebhookConfiguration)
			configuration.Webhooks = []admissionregistrationv1.MutatingWebhook{{
				Name: "hook.dogear.dev", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
				ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: "x"}},
			}}
			if err := b.admin.Create(t.Context(), configuration); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.admin.Delete(context.Background(), configuration) })
			result := b.must(func(o *Options) { o.Namespaces = []string{b.namespace} })
			if c.gone {
				b.gone(configuration)
				return
			}
			if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(configuration), configuration); err != nil {
				t.Error(err)
			}
			wantText(t, strings.Join(result.Notes, "\n"), "The webhook configurations are left alone")
		})
	}
}

// While the API server does not answer, a step is taken again.
func TestStepsAreTakenAgain(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	failed := map[string]int{}
	var lock sync.Mutex
	config := b.wired(func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
		lock.Lock()
		defer lock.Unlock()
		what := req.Method + " " + req.URL.Path
		if failed[what]++; failed[what] < 3 && (req.Method != http.MethodGet && !strings.Contains(what, "/secrets/") || strings.HasSuffix(what, "/leases/dogear.dev") || strings.HasSuffix(what, "sets")) {
			if failed[what] == 1 {
				return nil, errors.New("connection reset")
			}
			return answer(req, &metav1.Status{Code: 503, Reason: metav1.StatusReasonServiceUnavailable}), nil
		}
		return pass.RoundTrip(req)
	})
	result, err := b.uninstallAs(t.Context(), config)
	if err != nil || b.held(strict) > 0 || len(b.own()) > 0 || len(result.Deleted) != 7 {
		t.Errorf("got %v, %+v", err, result)
	}
	refused := b.wired(func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
		return nil, errors.New("connection refused")
	})
	began := time.Now()
	if _, err := b.uninstallAs(t.Context(), refused); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("the first request that fails is told at once: %v", err)
	}
}
