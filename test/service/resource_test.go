package service

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// crd makes a CRD of the test group with these versions, of which the first is
// stored.
func (b *bench) crd(kind string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	b.Helper()
	lower := strings.ToLower(kind)
	text := fmt.Sprintf(`
metadata: {name: %[2]ss.test.dogear.dev}
spec:
  group: test.dogear.dev
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]ss, singular: %[2]s}
  scope: Namespaced
  versions:
`, kind, lower)
	for i, version := range versions {
		text += fmt.Sprintf(`
  - name: %s
    served: true
    storage: %v
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`, version, i == 0)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		b.Fatal(err)
	}
	return crd
}

func (b *bench) install(crd *apiextensionsv1.CustomResourceDefinition) {
	b.Helper()
	crd.ResourceVersion = ""
	if err := b.cp.InstallCRDs(b.Context(), crd); err != nil {
		b.Fatal(err)
	}
}

// custom creates an object of a kind of the test group.
func (b *bench) custom(kind, version, name string) *unstructured.Unstructured {
	b.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.dogear.dev/" + version, "kind": kind, "metadata": map[string]any{"name": name, "namespace": b.namespace},
		"spec": map[string]any{"size": int64(1)},
	}}
	b.eventually(func() error { return b.admin.Create(b.Context(), u) }) // a CRD that was just installed may take a moment
	return u
}

func TestAResourceMayComeGoAndComeAgain(t *testing.T) {
	b := newBench(t)
	b.start()
	e := b.endpoint("hook", nil)
	s := b.set("late", "latecomers.v1.test.dogear.dev", "handlers:\n- {id: h, causes: [Create, Delete], http: "+e.http()+"}\n")
	c := b.awaitCondition(s, v1alpha1.ConditionResourceServed, metav1.ConditionFalse, "NotServed")
	wantText(t, c.Message, "latecomers.test.dogear.dev", "v1", "CRD")
	b.awaitCondition(s, v1alpha1.ConditionReady, metav1.ConditionFalse, "NotServed")

	crd := b.crd("Latecomer", "v1")
	b.install(crd)
	b.awaitReady(s)
	b.await(b.custom("Latecomer", "v1", "one"), "Succeeded")

	b.delete(crd) // its objects have a Delete handler
	b.eventually(func() error { return b.isGone(crd.DeepCopy()) })
	if n := e.callsOf("h", "one"); n != 2 {
		t.Errorf("calls %q", texts(e.calls()))
	}
	b.install(b.crd("Latecomer", "v1"))
	b.await(b.custom("Latecomer", "v1", "two"), "Succeeded")
	b.delete(b.crd("Latecomer", "v1"))
	b.eventually(func() error { return b.isGone(crd.DeepCopy()) })
	b.awaitCondition(s, v1alpha1.ConditionResourceServed, metav1.ConditionFalse, "NotServed")
	b.delete(s) // there is nothing to clean
	b.eventually(func() error { return b.isGone(s) })
}

func TestTheVersionInASetChanges(t *testing.T) {
	b := newBench(t)
	b.start()
	crd := b.crd("Versioned", "v1", "v2")
	b.install(crd)
	t.Cleanup(func() { _ = b.admin.Delete(context.Background(), crd) })
	e := b.endpoint("hook", nil)
	handlers := "handlers:\n- {id: h, causes: [Create, Update, Delete], http: " + e.http() + "}\n"
	s := b.set("moving", "versioneds.v1.test.dogear.dev", handlers)
	b.awaitReady(s)
	older := b.custom("Versioned", "v1", "older")
	b.await(older, "Succeeded")

	b.change(s, func() { s.Spec.Resource.Version = "v2" })
	b.awaitReady(s)
	b.await(b.custom("Versioned", "v1", "younger"), "Succeeded") // written in the other version
	calls := e.awaitCalls(2)
	if len(calls) != 2 || calls[0].Kind.Version != "v1" || calls[1].Kind.Version != "v2" || nameOf(calls[1]) != "younger" {
		t.Errorf("calls %q", texts(calls))
	}

	// One that is no longer served.
	b.change(crd, func() { crd.Spec.Versions[1].Served = false })
	c := b.awaitCondition(s, v1alpha1.ConditionResourceServed, metav1.ConditionFalse, "NotServed")
	wantText(t, c.Message, "version v2", "but in v1")
	if !b.holds(older) {
		t.Error("the finalizer went")
	}
	b.delete(s)
	b.eventually(func() error { return b.isGone(s) })
	if b.holds(older) || len(b.ours(older)) > 0 {
		t.Errorf("left: %v", b.get(older))
	}
}

func TestSetsThatNameDifferentVersions(t *testing.T) {
	b := newBench(t)
	b.start()
	crd := b.crd("Disputed", "v1", "v2")
	b.install(crd)
	t.Cleanup(func() { _ = b.admin.Delete(context.Background(), crd) })
	e := b.endpoint("hook", nil)
	handlers := "handlers:\n- {id: h, causes: [Create, Delete], http: " + e.http() + "}\n"
	first := b.set("a-first", "disputeds.v1.test.dogear.dev", handlers)
	later := b.set("b-later", "disputeds.v2.test.dogear.dev", handlers)
	c := b.awaitCondition(later, v1alpha1.ConditionPermitted, metav1.ConditionFalse, "VersionConflict")
	wantText(t, c.Message, "ClusterHandlerSet a-first", "v1")
	b.awaitCondition(later, v1alpha1.ConditionStalled, metav1.ConditionTrue, "VersionConflict")
	b.awaitReady(first)
	o := b.custom("Disputed", "v1", "object")
	b.await(o, "Succeeded")

	b.change(later, func() { later.Spec.Resource.Version = "v1" })
	b.awaitReady(later)
	b.eventually(func() error {
		if m := b.marker(o); !m.Names("a-first/h") || !m.Names("b-later/h") {
			return fmt.Errorf("marker %+v", m)
		}
		return nil
	})
	// A conflict of sets that are in force: nothing is lost, all is cleaned.
	b.change(later, func() { later.Spec.Resource.Version = "v2" })
	b.awaitCondition(later, v1alpha1.ConditionPermitted, metav1.ConditionFalse, "VersionConflict")
	another := b.custom("Disputed", "v1", "another")
	b.eventually(func() error {
		if m := b.marker(another); !m.Names("a-first/h") {
			return fmt.Errorf("marker %+v", m)
		}
		return nil
	})
	if m := b.marker(o); !m.Names("b-later/h") {
		t.Errorf("marker %+v", m)
	}
	b.delete(later)
	b.eventually(func() error { return b.isGone(later) })
	if m := b.marker(o); m.Names("b-later/h") || !m.Names("a-first/h") || !b.holds(o) {
		t.Errorf("marker %+v", m)
	}
	b.awaitReady(first)
}

func TestAHandlerSetForWhatHasNoNamespace(t *testing.T) {
	b := newBench(t)
	b.start()
	e := b.endpoint("hook", nil)
	s := b.namespaced("scope", "clusterwides.v1.test.dogear.dev", "handlers:\n- {id: h, causes: [Create], http: "+e.local()+"}\n")
	c := b.awaitCondition(s, v1alpha1.ConditionPermitted, metav1.ConditionFalse, "NotNamespaced")
	wantText(t, c.Message, "clusterwides.test.dogear.dev", "ClusterHandlerSet")
}
