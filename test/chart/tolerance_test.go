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
)

// TestASetOfATenantFailsNoTest of a release: tools take an upgrade back that fails it.
func TestASetOfATenantFailsNoTest(t *testing.T) {
	b := newBench(t)
	b.install()
	s := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: b.objects, Name: "tenant"}}
	spec := "resource: {group: apps, version: v1, resource: deployments}\nhandlers:\n- {id: theirs, causes: [Create], http: {service: {name: hook}}}\n"
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		t.Fatal(err)
	}
	if err := b.admin.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		if !meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionPermitted) {
			return fmt.Errorf("it is not refused for want of rights: %+v", s.Status.Conditions)
		}
		return nil
	})
	b.checks("replicas", "leader", "refuses a wrong set")
	if out, err := b.program("check", "-n", namespace); err == nil || !strings.Contains(out, "deployments.apps") {
		t.Errorf("dogear check finds nothing wrong: %v\n%s", err, out)
	}
}
