package chart

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// TestANamespaceIsTakenOut: an installation in two namespaces, whose rights for the
// objects come from `dogear rbac` alone, lets go of one, which can be deleted then,
// and is uninstalled from the other. A namespace that still has something to be
// released is not let go.
func TestANamespaceIsTakenOut(t *testing.T) {
	b := newBench(t)
	other := *b
	other.objects = rigtest.Namespace(t)
	leaving := other.objects
	b.crds()
	values := func(namespaces ...string) string {
		return "--set=crds.enabled=false,rbac.resources=null,namespaced.enabled=true,namespaced.namespaces={" + strings.Join(namespaces, ",") + "}"
	}
	b.install(values(b.objects, leaving))
	for _, name := range []string{b.objects, leaving} {
		b.allow(name)
	}
	stays, goes := b.tenant("mine"), other.tenant("mine")
	here, there := b.certificate("here"), other.certificate("there")
	b.await("Succeeded", here, there)

	out, err := b.tryHelm("upgrade", release, b.chart(), handles, values(b.objects))
	if err == nil || !strings.Contains(err.Error()+out, leaving+" is taken out, and has the HandlerSets mine, whose objects nobody would release any more") {
		t.Errorf("got %v: %s", err, out)
	}
	if out, err := b.program("uninstall", "--yes", "-n", namespace, "--namespaces="+leaving); err == nil || !strings.Contains(out, "works in "+b.objects+", too") {
		t.Errorf("got %v: %s", err, out)
	}
	b.delete(goes)
	b.eventually(func() error { return b.isGone(goes) })
	if fresh, err := b.get(there); err != nil || holds(fresh) {
		t.Errorf("%v %v", fresh.GetFinalizers(), err)
	}
	b.upgrade(values(b.objects))
	ended := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: leaving}}
	b.delete(ended)
	b.eventually(func() error { return b.isGone(ended) })
	b.checks("leader", "sets")

	b.uninstall()
	if fresh, err := b.get(here); err != nil || holds(fresh) {
		t.Errorf("%v %v", fresh.GetFinalizers(), err)
	}
	if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(stays), stays); err != nil || len(stays.Finalizers) > 0 {
		t.Errorf("%v %v", stays.Finalizers, err)
	}
	b.leftNothing()
}

// allow gives the installation rights for Certificates in a namespace, as the
// documentation has it.
func (b *bench) allow(name string) {
	b.Helper()
	text, err := b.program("rbac", "certificates.cert-manager.io", "--namespace-role="+name, "--service-account="+namespace+"/"+release+"-controller")
	if err != nil {
		b.Fatalf("%v: %s", err, text)
	}
	for document := range strings.SplitSeq(text, "---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			b.Fatal(err)
		}
		if err := b.admin.Create(b.Context(), u); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { // no other test's controller is to have these rights
			if err := b.admin.Delete(context.Background(), u); client.IgnoreNotFound(err) != nil {
				b.Error(err)
			}
		})
	}
}

// tenant creates a HandlerSet for Certificates, with an endpoint of its own.
func (b *bench) tenant(name string) *v1alpha1.HandlerSet {
	b.Helper()
	e := b.endpoint(name, nil)
	s := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: b.objects, Name: name}}
	spec := "resource: {group: cert-manager.io, version: v1, resource: certificates}\nhandlers:\n- {id: myapp, causes: [Create, Delete], http: " + e.local() + "}\n"
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		b.Fatal(err)
	}
	if err := b.admin.Create(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	b.awaitReady(s)
	return s
}
