// Package examples tests the examples as what they are: programs that find an
// API server by KUBECONFIG.
package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) { rigtest.Main(m, rigtest.WithCertManagerCRDs()) }

// settle is how long a test waits for what must happen.
const settle = 60 * time.Second

// start builds an example and runs it until the test ends, with no more rights
// than an operator needs that has no webhook.
func start(t *testing.T, example, group, resource string) {
	t.Helper()
	kubeconfig := account(t, example, group, resource)
	program := filepath.Join(t.TempDir(), example)
	if text, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./"+example).CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, text)
	}
	log := &bytes.Buffer{}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Errorf("the example ended with: %v", err)
		}
		if t.Failed() {
			t.Logf("log of the example:\n%s", log)
		}
	})
}

func account(t *testing.T, name, group, resource string) (kubeconfig string) {
	t.Helper()
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	config, err := rigtest.ControlPlane(t).ServiceAccountConfig(t.Context(), "default", name, rig.Rights{
		Cluster: []rbacv1.PolicyRule{
			rule(group, resource, "get", "list", "watch", "patch"),
			rule("events.k8s.io", "events", "create", "patch"),
		},
		Namespaced: map[string][]rbacv1.PolicyRule{"default": {rule("", "configmaps", "get", "create", "update")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := rig.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// subject is an object of a test.
type subject struct {
	*testing.T
	*unstructured.Unstructured
	admin  client.Client
	domain string
}

func create(t *testing.T, domain, body string) *subject {
	t.Helper()
	s := &subject{t, &unstructured.Unstructured{}, rigtest.Client(t), domain}
	if err := json.Unmarshal([]byte(body), &s.Object); err != nil {
		t.Fatal(err)
	}
	s.SetNamespace(rigtest.Namespace(t))
	s.SetName("one")
	if err := s.admin.Create(t.Context(), s.Unstructured); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *subject) own(name string) string {
	return s.GetAnnotations()["dogear."+s.domain+"/"+name]
}

// await waits until the state annotation is as wanted.
func (s *subject) await(state string) {
	s.Helper()
	rigtest.Eventually(s, settle, func() error {
		if err := s.admin.Get(s.Context(), client.ObjectKeyFromObject(s.Unstructured), s.Unstructured); err != nil {
			return err
		}
		if have := s.own("state"); have != state {
			return fmt.Errorf("state is %q, want %q: %v", have, state, s.GetAnnotations())
		}
		return nil
	})
}

func (s *subject) patch(body string) {
	s.Helper()
	if err := s.admin.Patch(s.Context(), s.Unstructured, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		s.Fatal(err)
	}
}

func TestCertificateIsProvisionedOnceApproved(t *testing.T) {
	start(t, "certificate", "cert-manager.io", "certificates")
	s := create(t, "certs.example.com", `{"apiVersion":"cert-manager.io/v1","kind":"Certificate",
		"spec":{"secretName":"s","dnsNames":["a.example.com"],"issuerRef":{"name":"ca"}}}`)
	s.await("Retrying")
	if have, want := s.own("status"), `{"myapp":{"phase":"Pending"}}`; have != want {
		t.Errorf("the payload of the error is %s, want %s", have, want)
	}
	s.patch(`{"metadata":{"annotations":{"example.com/approved":"true"}}}`)
	s.await("Succeeded")
	if have, want := s.own("status"), `{"myapp":{"phase":"Starting"}}`; have != want {
		t.Errorf("the payload of the success is %s, want %s", have, want)
	}
}

func TestServiceGetsNameOnceItHasAddress(t *testing.T) {
	start(t, "service", "", "services")
	body := `{"apiVersion":"v1","kind":"Service","spec":{"type":%q,"ports":[{"port":80}],"selector":{"a":"b"}}}`
	other := create(t, "services.example.com", fmt.Sprintf(body, "ClusterIP"))
	s := create(t, "services.example.com", fmt.Sprintf(body, "LoadBalancer"))
	s.await("Waiting")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`))
	if err := s.admin.Status().Patch(t.Context(), s.Unstructured, patch); err != nil {
		t.Fatal(err)
	}
	s.await("Succeeded")
	if have := s.GetAnnotations()["external-dns.alpha.kubernetes.io/hostname"]; have != "one.example.com" {
		t.Errorf("the name is %q, want one.example.com", have)
	}
	if have := s.own("status"); !strings.Contains(have, `"ip":"192.0.2.1"`) {
		t.Errorf("the payload is %s, want the address in it", have)
	}
	other.await("") // no load balancer
}

func TestClaimIsNotDeletedBeforeBackup(t *testing.T) {
	start(t, "pvc", "", "persistentvolumeclaims")
	s := create(t, "volumes.example.com", `{"apiVersion":"v1","kind":"PersistentVolumeClaim",
		"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
	const ours = "dogear.volumes.example.com/finalizer"
	rigtest.Eventually(t, settle, func() error {
		if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(s.Unstructured), s.Unstructured); err != nil {
			return err
		}
		if !slices.Contains(s.GetFinalizers(), ours) {
			return fmt.Errorf("the finalizers are %q, want %q among them", s.GetFinalizers(), ours)
		}
		return nil
	})
	if err := s.admin.Delete(t.Context(), s.Unstructured); err != nil {
		t.Fatal(err)
	}
	s.await("Retrying")
	s.patch(`{"metadata":{"annotations":{"example.com/backup":"2030-01-01T00:00:00Z"}}}`)
	rigtest.Eventually(t, settle, func() error {
		err := s.admin.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(s.Unstructured), s.Unstructured)
		if apierrors.IsNotFound(err) || err == nil && !slices.Contains(s.GetFinalizers(), ours) {
			return nil // pvc-protection may still hold it
		}
		return fmt.Errorf("still held: %q, %v (%w)", s.GetFinalizers(), s.GetAnnotations(), err)
	})
}

// The examples are short enough to be read at a glance.
func TestExamplesAreShort(t *testing.T) {
	for _, example := range []string{"certificate", "service", "pvc"} {
		text, err := os.ReadFile(filepath.Join(example, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				n++
			}
		}
		if n > 30 {
			t.Errorf("%s has %d lines of code, want 30 at most", example, n)
		}
	}
}
