package v1alpha1_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// columns asks the API server for a set as kubectl get does.
func columns(t *testing.T, resource, name string) map[string]any {
	t.Helper()
	config := rest.CopyConfig(rigtest.ControlPlane(t).AdminConfig())
	config.APIPath, config.GroupVersion = "/apis", &v1alpha1.GroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	err = c.Get().Resource(resource).Name(name).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Into(table)
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			cells[column.Name] = table.Rows[0].Cells[i]
		}
	}
	return cells
}

func TestASetIsShownWithItsCounts(t *testing.T) {
	c := install(t)
	u := variant{set: `{metadata: {name: shown}}`}.build(t)
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	set := typed(t, u).(*v1alpha1.ClusterHandlerSet)
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	set.Status = v1alpha1.HandlerSetStatus{
		ObservedGeneration: set.Generation,
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "InForce", LastTransitionTime: now},
			{Type: v1alpha1.ConditionEndpointsHealthy, Status: metav1.ConditionFalse, Reason: "EndpointDown", LastTransitionTime: now}},
		Counts: v1alpha1.Counts{Objects: 7, Retrying: 1, Failed: 1, Failing: 2},
		Handlers: []v1alpha1.HandlerStatus{
			{ID: "a", Phase: v1alpha1.HandlerActive, Counts: v1alpha1.Counts{Objects: 7}},
			{ID: "gone", Phase: v1alpha1.HandlerRemoving, Remaining: 3, LastError: strings.Repeat("é", 1024), LastErrorTime: &now},
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = content["status"]
	if err := c.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if got := typed(t, u).Observed(); !equal(*got, set.Status) {
		t.Errorf("got  %+v\nwant %+v", *got, set.Status)
	}
	if n, found, _ := unstructured.NestedInt64(u.Object, "status", "pending"); !found || n != 0 {
		t.Errorf("pending is %d, %v: want a 0 that is there", n, found)
	}
	cells := columns(t, "clusterhandlersets", "shown")
	delete(cells, "Age")
	want := map[string]any{"Name": "shown", "Resource": "certificates", "Ready": "True", "Healthy": "False", "Objects": int64(7), "Failing": int64(2)}
	if !reflect.DeepEqual(cells, want) {
		t.Errorf("got  %v\nwant %v", cells, want)
	}
}
