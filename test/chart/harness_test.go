package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/node"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

const (
	release   = "dogear"
	namespace = "dogear" // of the release
	// settle is how long a test waits for what must happen.
	settle = 90 * time.Second
	// helmTimeout is for how long helm waits.
	helmTimeout = "3m"
)

// handles lets the controller handle Certificates. Where only root may listen
// at 443, which the node does for Services, these have other ports.
var handles = func() string {
	values := `--set-json=rbac.resources=[{"group":"cert-manager.io","resource":"certificates","status":true}]`
	listener, err := net.Listen("tcp", "127.255.255.254:443")
	if errors.Is(err, os.ErrPermission) {
		return values + ",webhook.service.port=10443,callback.service.port=10444"
	}
	if err == nil {
		_ = listener.Close()
	}
	return values
}()

var webhookConfigurations = []client.Object{
	&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
}

// bench is what a test has at hand. The tests of the package run one after
// another: there is one Dogear in a cluster.
type bench struct {
	*testing.T
	cp    *rig.ControlPlane
	node  *node.Node
	admin client.Client
	// objects is the namespace of the users' objects, and of endpoints.
	objects string
	// auditFrom is where the test's part of the audit log begins.
	auditFrom int64
}

// newBench makes the namespaces; all that the test has left is removed at its end.
func newBench(t *testing.T) *bench {
	t.Helper()
	scheme := controller.DefaultScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, cp: rigtest.ControlPlane(t), node: theNode(t), objects: rigtest.Namespace(t)}
	var err error
	if b.admin, err = client.New(b.cp.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	if err := b.admin.Create(t.Context(), restricted); err != nil {
		t.Fatal(err)
	}
	b.auditFrom = b.auditEnd()
	t.Cleanup(b.clear)
	t.Cleanup(b.explain)
	return b
}

// chart is the folder of the chart.
func (b *bench) chart() string {
	root, err := rig.RepositoryRoot()
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join(root, "charts", "dogear")
}

func (b *bench) tryHelm(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	return b.cp.Helm(ctx, append(args, "--namespace", namespace)...)
}

func (b *bench) helm(args ...string) string {
	b.Helper()
	out, err := b.tryHelm(args...)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// install installs the chart and waits until its Pods are ready.
func (b *bench) install(args ...string) {
	b.Helper()
	b.helm(append([]string{"install", release, b.chart(), "--wait", "--timeout", helmTimeout, handles}, args...)...)
}

func (b *bench) upgrade(args ...string) {
	b.Helper()
	b.helm(append([]string{"upgrade", release, b.chart(), "--wait", "--timeout", helmTimeout, handles}, args...)...)
}

func (b *bench) uninstall() {
	b.Helper()
	b.helm("uninstall", release, "--wait", "--timeout", helmTimeout)
}

// program runs a subcommand of dogear as the administrator.
func (b *bench) program(args ...string) (string, error) {
	b.Helper()
	return runProgram(b.Context(), b.cp, args...)
}

// pods are those of a component.
func (b *bench) pods(component string) []corev1.Pod {
	b.Helper()
	pods, err := b.node.Pods(b.Context(), namespace, "dogear.dev/component="+component)
	if err != nil {
		b.Fatal(err)
	}
	return pods
}

// eventually waits until a rule holds.
func (b *bench) eventually(holds func() error) {
	b.Helper()
	rigtest.Eventually(b, settle, holds)
}

// awaitReady waits until a set is in force as it is declared now.
func (b *bench) awaitReady(s v1alpha1.AnySet) {
	b.Helper()
	b.eventually(func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(s), s.(client.Object)); err != nil {
			return err
		}
		c := meta.FindStatusCondition(s.Observed().Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != s.GetGeneration() {
			text, _ := json.Marshal(s.Observed())
			return fmt.Errorf("%s is not in force: %s", s.GetName(), text)
		}
		return nil
	})
}

// isGone is an error while an object is there.
func (b *bench) isGone(o client.Object) error {
	err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	text, _ := json.Marshal(o)
	return errors.Join(fmt.Errorf("still there: %T %s %s", o, o.GetName(), text), err)
}

func (b *bench) delete(o client.Object, options ...client.DeleteOption) {
	b.Helper()
	if err := b.admin.Delete(b.Context(), o, options...); client.IgnoreNotFound(err) != nil {
		b.Fatal(err)
	}
}

// explain shows what the Pods have logged, if the test has failed.
func (b *bench) explain() {
	if !b.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(b.cp.Dir(), "pods", namespace+"_*.log"))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		b.Logf("%s:\n%s", filepath.Base(path), strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
}

// clear removes what a test has left, by force: it may have failed.
func (b *bench) clear() {
	ctx := context.Background()
	_, _ = b.cp.Helm(ctx, "uninstall", release, "--namespace", namespace, "--no-hooks", "--ignore-not-found", "--wait", "--timeout", "1m")
	// What a Job was doing has ended with its release.
	var errs []error
	for _, o := range webhookConfigurations {
		errs = append(errs, b.admin.DeleteAllOf(ctx, o.DeepCopyObject().(client.Object)))
	}
	certificates := &metav1.PartialObjectMetadataList{}
	certificates.SetGroupVersionKind(certificateKind.GroupVersion().WithKind("CertificateList"))
	errs = append(errs, b.admin.List(ctx, certificates))
	for i := range certificates.Items {
		errs = append(errs, b.free(ctx, &certificates.Items[i]), b.admin.Delete(ctx, &certificates.Items[i]))
	}
	for _, name := range []string{"clusterhandlersets", "handlersets"} {
		errs = append(errs, b.dropSets(ctx, name))
	}
	errs = append(errs, b.admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	for _, err := range errs {
		if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
			b.Error(err)
		}
	}
	deadline := time.Now().Add(settle)
	gone := &corev1.Namespace{}
	for b.admin.Get(ctx, client.ObjectKey{Name: namespace}, gone) == nil {
		if time.Now().After(deadline) {
			b.Errorf("the namespace does not go: %+v", gone.Status)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// dropSets removes sets of a resource with its CRD.
func (b *bench) dropSets(ctx context.Context, resource string) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.admin.Get(ctx, client.ObjectKey{Name: resource + "." + v1alpha1.GroupVersion.Group}, crd); err != nil {
		return err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(crd.Spec.Names.ListKind))
	if err := b.admin.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		if err := b.free(ctx, &list.Items[i]); err != nil {
			return err
		}
	}
	return b.admin.Delete(ctx, crd)
}

// free takes our finalizers off an object.
func (b *bench) free(ctx context.Context, o *metav1.PartialObjectMetadata) error {
	var kept []string
	for _, f := range o.Finalizers {
		if f != storage.ServicePrefix.Finalizer() && f != sets.Cleanup {
			kept = append(kept, f)
		}
	}
	if len(kept) == len(o.Finalizers) {
		return nil
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": kept}})
	if err != nil {
		return err
	}
	return b.admin.Patch(ctx, o, client.RawPatch("application/merge-patch+json", text))
}

var certificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

// log is what a container has logged, line by line.
func (b *bench) log(pod *corev1.Pod, container string) []string {
	text, err := os.ReadFile(b.node.Log(pod.Namespace, pod.Name, container))
	if err != nil {
		b.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
