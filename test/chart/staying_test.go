package chart

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
)

// kubectl runs it as the administrator.
func (b *bench) kubectl(args ...string) string {
	b.Helper()
	path, err := rig.Binary("kubectl")
	if err != nil {
		b.Fatal(err)
	}
	kubeconfig := filepath.Join(b.cp.Dir(), "test.kubeconfig")
	if err := b.cp.Kubeconfig(kubeconfig); err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), path, args...)
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "HOME=" + b.cp.Dir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestStayingAfterAll: an uninstall that failed half way is taken back by the
// commands of the documentation, and what had finished does not run again. No
// autoscaler brings back a Deployment from 0, so the webhook is scaled.
func TestStayingAfterAll(t *testing.T) {
	b := newBench(t)
	b.crds()
	values := "--set=crds.enabled=false,uninstall.backoffLimit=0,webhook.autoscaling.enabled=true"
	b.install(values)
	e := b.endpoint("hook", nil)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Delete], http: "+e.http()+"}\n")
	all := b.certificates("before", 3)
	b.await("Succeeded", all...)
	allow := b.keepFromRelease(all[0])

	out, err := b.tryHelm("uninstall", release, "--wait", "--timeout", helmTimeout)
	if err == nil {
		t.Fatalf("it did not fail: %s", out)
	}
	b.isDown()
	if fresh, err := b.get(all[1]); err != nil || holds(fresh) {
		t.Errorf("want it released: %v %v", fresh.GetFinalizers(), err)
	}
	if out, err := b.tryHelm("upgrade", release, b.chart(), handles, values); err == nil || !strings.Contains(err.Error(), "has no deployed releases") {
		t.Errorf("an upgrade mends it, and the documentation says that it does not: %v: %s", err, out)
	}
	b.stays("1")
	all = append(all, b.certificate("meanwhile"))
	b.goesOn(e, all)

	if out, err := b.program("uninstall", "--yes", "-n", namespace); err == nil {
		t.Fatalf("it did not fail: %s", out)
	}
	b.isDown()
	b.stays("2")
	all = append(all, b.certificate("later"))
	b.goesOn(e, all)

	allow()
	b.upgrade(values)
	b.uninstall()
	for _, u := range all {
		if fresh, err := b.get(u); err != nil || holds(fresh) {
			t.Errorf("%s: %v %v", u.GetName(), fresh.GetFinalizers(), err)
		}
	}
	b.leftNothing()
}

// isDown checks that nothing works any more.
func (b *bench) isDown() {
	b.Helper()
	for _, component := range []string{"controller", "webhook"} {
		if pods := b.pods(component); len(pods) > 0 {
			b.Errorf("%d Pods of the %s are there", len(pods), component)
		}
	}
}

// stays does what the documentation says that brings a release back.
func (b *bench) stays(revision string) {
	b.Helper()
	b.kubectl("delete", "job", "dogear-uninstall", "-n", namespace, "--ignore-not-found")
	b.kubectl("scale", "deployment/dogear-webhook", "-n", namespace, "--replicas=2")
	b.helm("rollback", release, revision, "--wait", "--timeout", helmTimeout)
	if out, err := b.program("check", "-n", namespace, "--wait", "--timeout=2m"); err != nil {
		b.Errorf("%v: %s", err, out)
	}
}

// goesOn checks that objects are handled, once each, and held.
func (b *bench) goesOn(e *endpoint, all []*unstructured.Unstructured) {
	b.Helper()
	b.await("Succeeded", all...)
	for _, u := range all {
		b.eventually(func() error {
			fresh, err := b.get(u)
			if err == nil && !holds(fresh) {
				err = fmt.Errorf("%s has no finalizer", u.GetName())
			}
			return err
		})
		if calls := e.of(u.GetName()); len(calls) != 1 {
			b.Errorf("%s: calls %+v", u.GetName(), calls)
		}
	}
}

// keepFromRelease has the API server refuse to let anybody but the controller write
// an object, until it is allowed.
func (b *bench) keepFromRelease(u *unstructured.Unstructured) (allow func()) {
	b.Helper()
	name := metav1.ObjectMeta{Name: "keep-" + u.GetName()}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: name}
	policy.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"cert-manager.io"}, APIVersions: []string{"v1"}, Resources: []string{"certificates"}},
		},
	}}}
	policy.Spec.Validations = []admissionregistrationv1.Validation{{
		Expression: "object.metadata.name != '" + u.GetName() + "' || request.userInfo.username == 'system:serviceaccount:dogear:dogear-controller'", Message: "not now",
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name}
	binding.Spec = admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}
	allow = func() {
		for _, o := range []client.Object{policy, binding} {
			if err := b.admin.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				b.Error(err)
			}
		}
	}
	b.Cleanup(allow)
	for _, o := range []client.Object{policy, binding} {
		if err := b.admin.Create(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	touch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"touched":"yes"}}}`))
	b.eventually(func() error {
		if err := b.admin.Patch(b.Context(), u.DeepCopy(), touch, client.DryRunAll); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("the policy does not hold yet: %v", err)
		}
		return nil
	})
	return allow
}
