package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// Two installations of one domain would both call the handlers of each object:
// the second ends, and says why, while the first one's Service is there.
func TestASecondInstallationEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: rigtest.Namespace(t), Name: "theirs"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}
	if err := b.admin.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	theirs := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "dogear." + b.domain},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "widgets.dogear." + b.domain, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			FailurePolicy: new(admissionregistrationv1.Ignore),
			ClientConfig:  admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: other.Namespace, Name: other.Name}},
		}},
	}
	if err := b.admin.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context) error {
		op, err := controller.New(controller.Options{
			Domain: b.domain, Namespace: b.namespace, Config: b.cp.AdminConfig(), Log: rigtest.Log(t),
			Roles: controller.RoleController, Webhook: &controller.Webhook{Service: "ours"},
		})
		if err != nil {
			t.Fatal(err)
		}
		handler.Register(op, handler.Spec{ID: "work", On: handler.Create, Kind: testKind("Widget"), Labels: "test=" + b.namespace},
			func(context.Context, *request) (handler.Result, error) { return handler.Result{}, nil })
		return op.Start(ctx)
	}
	if err := run(t.Context()); err == nil || !strings.Contains(err.Error(), other.Namespace+"/theirs") {
		t.Fatalf("it ended with: %v", err)
	}

	// What is left of an installation that is gone holds up nobody.
	if err := b.admin.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	rigtest.Eventually(t, settle, func() error {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
			return err
		}
		if s := theirs.Webhooks[0].ClientConfig.Service; s == nil || s.Namespace != b.namespace {
			return fmt.Errorf("the configuration leads to %+v", s)
		}
		return nil
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
