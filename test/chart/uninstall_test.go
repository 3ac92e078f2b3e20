package chart

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/uninstall"
)

// TestATenantHoldsUpNoUninstall: whoever may write HandlerSets can name a resource
// for which there are no rights. The release goes all the same, the sets say so, and
// one that comes later puts them in force again.
func TestATenantHoldsUpNoUninstall(t *testing.T) {
	b := newBench(t)
	b.crds()
	b.install("--set=crds.enabled=false")
	e := b.endpoint("hook", nil)
	s := b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Delete], http: "+e.http()+"}\n")
	first := b.certificate("first")
	b.await("Succeeded", first)
	tenant := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: b.objects, Name: "of-a-tenant"}}
	spec := "resource: {group: apps, version: v1, resource: deployments}\nhandlers:\n- {id: myapp, causes: [Create, Delete], http: " + e.local() + "}\n"
	if err := yaml.UnmarshalStrict([]byte(spec), &tenant.Spec); err != nil {
		t.Fatal(err)
	}
	if err := b.admin.Create(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	b.says(tenant, "RightsMissing")
	// What only the administrator may look at is no trouble to him.
	if out, err := b.program("uninstall", "--dry-run", "-n", namespace); err != nil {
		t.Errorf("%v: %s", err, out)
	}

	b.uninstall()
	if fresh, err := b.get(first); err != nil || holds(fresh) {
		t.Errorf("%v %v", fresh.GetFinalizers(), err)
	}
	b.leftNothing()
	b.says(s, uninstall.Uninstalled)
	b.says(tenant, uninstall.Uninstalled)

	b.install("--set=crds.enabled=false")
	b.awaitReady(s)
	b.says(tenant, "RightsMissing")
	second := b.certificate("second")
	b.await("Succeeded", first, second)
	for _, u := range []client.Object{first, second} {
		if calls := e.of(u.GetName()); len(calls) != 1 {
			t.Errorf("%s: calls %+v", u.GetName(), calls)
		}
	}
	b.uninstall()
	b.leftNothing()
}

// TestAnUninstallWithoutRights changes nothing: what an installation before has put
// in force cannot be released by the Job of one that has fewer rights.
func TestAnUninstallWithoutRights(t *testing.T) {
	b := newBench(t)
	b.crds()
	values := "--set=crds.enabled=false,uninstall.backoffLimit=0"
	b.install(values)
	e := b.endpoint("hook", nil)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Delete], http: "+e.http()+"}\n")
	first := b.certificate("first")
	b.await("Succeeded", first)
	b.upgrade(values + ",rbac.resources=null")
	out, err := b.tryHelm("uninstall", release, "--wait", "--timeout", helmTimeout)
	if err == nil {
		t.Fatalf("it did not fail: %s", out)
	}
	for _, component := range []string{"controller", "webhook"} {
		if len(b.pods(component)) == 0 {
			t.Errorf("the %s was stopped", component)
		}
	}
	pods, err := b.node.Pods(t.Context(), namespace, "batch.kubernetes.io/job-name="+release+"-uninstall")
	if err != nil || len(pods) != 1 {
		t.Fatalf("%d Pods of the Job, %v", len(pods), err)
	}
	text := strings.Join(b.log(&pods[0], "uninstall"), "\n")
	for _, want := range []string{
		`certificates.cert-manager.io: its objects cannot be listed: rights are missing: user "system:serviceaccount:dogear:dogear-uninstall" cannot list`,
		"dogear rbac certificates.cert-manager.io | kubectl apply -f -", "nothing was changed, as rights are missing",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the log of the Job: %s", want, text)
		}
	}
	// A dry run with the rights of somebody else.
	controller := "system:serviceaccount:" + namespace + ":" + release + "-controller"
	out, err = b.program("uninstall", "--dry-run", "-n", namespace, "--as="+controller)
	if err == nil || !strings.Contains(out, `User "`+controller+`" cannot`) && !strings.Contains(out, `user "`+controller+`" cannot`) {
		t.Errorf("got %v: %s", err, out)
	}
	out, err = b.program("uninstall", "--yes", "-n", namespace)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.helm("uninstall", release, "--no-hooks", "--wait", "--timeout", helmTimeout)
	b.kubectl("delete", "job", release+"-uninstall", "-n", namespace, "--ignore-not-found")
	if fresh, err := b.get(first); err != nil || holds(fresh) {
		t.Errorf("%v %v", fresh.GetFinalizers(), err)
	}
}

// says waits until the condition Ready of a set has a reason.
func (b *bench) says(s v1alpha1.AnySet, reason string) {
	b.Helper()
	b.eventually(func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(s), s.(client.Object)); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(s.Observed().Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != reason {
			return fmt.Errorf("%s says %+v, want %s", s.GetName(), c, reason)
		}
		return nil
	})
}
