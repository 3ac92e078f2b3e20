package e2e

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// A certificate of others that is late holds up the webhook's configuration, which
// says so, and no handler. It is made as soon as the authority is there.
func TestHandlersDoNotWaitForTheAuthority(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	var op *controller.Operator
	b.start(func(r handler.Registry) {
		op = r.(*controller.Operator) //nolint:forcetypeassert // start has made it
		handler.Register(r, handler.Spec{ID: "work", On: handler.Create, Kind: testKind("Widget"), Labels: "test=" + b.namespace},
			func(context.Context, *request) (handler.Result, error) { return handler.Result{}, nil })
	}, func(o *controller.Options) {
		o.Roles = controller.RoleController
		o.Webhook = &controller.Webhook{Service: "ours", CertificateDir: dir}
	})
	widget := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	widget.SetGroupVersionKind(testKind("Widget"))
	widget.SetNamespace(b.namespace)
	widget.SetName("one")
	widget.SetLabels(map[string]string{"test": b.namespace})
	if err := b.admin.Create(t.Context(), widget); err != nil {
		t.Fatal(err)
	}
	rigtest.Eventually(t, settle, func() error {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); err != nil {
			return err
		}
		if state := widget.GetAnnotations()[b.key("state")]; state != "Succeeded" {
			return fmt.Errorf("the widget is %q", state)
		}
		text := op.Awaited(testKind("Widget"), "")
		if !strings.Contains(text, "cannot be told what to send to admission: ") || !strings.Contains(text, filepath.Join(dir, "ca.crt")) {
			return fmt.Errorf("awaited is %q", text)
		}
		return nil
	})
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	key := client.ObjectKey{Name: "dogear." + b.domain}
	if err := b.admin.Get(t.Context(), key, configuration); client.IgnoreNotFound(err) != nil || err == nil {
		t.Fatalf("want no configuration: %v, %+v", err, configuration)
	}

	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	rigtest.Eventually(t, settle, func() error {
		if err := b.admin.Get(t.Context(), key, configuration); err != nil {
			return err
		}
		if text := op.Awaited(testKind("Widget"), ""); text != "" {
			return fmt.Errorf("awaited is %q", text)
		}
		return nil
	})
}
