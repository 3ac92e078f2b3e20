package rig_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// counted returns what the API server counted while do ran.
func counted(t *testing.T, match rig.Match, do func()) rig.Requests {
	t.Helper()
	cp := rigtest.ControlPlane(t)
	before, err := cp.SettledRequests(t.Context(), match)
	if err != nil {
		t.Fatal(err)
	}
	do()
	after, err := cp.SettledRequests(t.Context(), match)
	if err != nil {
		t.Fatal(err)
	}
	return after.Sub(before).Only(match)
}

func TestRequestsAreCountedByKind(t *testing.T) {
	admin, namespace := rigtest.Client(t), rigtest.Namespace(t)
	secret := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "it"}}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	annotate := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
	all := rig.Match{Resource: "secrets", Group: rig.None}
	made := counted(t, all, func() {
		must(admin.Create(t.Context(), secret()))
		for range 3 {
			must(admin.Patch(t.Context(), secret(), annotate))
		}
		must(admin.Patch(t.Context(), secret(), annotate, client.DryRunAll))
		if admin.Create(t.Context(), secret()) == nil {
			t.Error("it was made twice")
		}
		must(admin.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)))
		must(admin.Delete(t.Context(), secret()))
	})
	for name, want := range map[string]struct {
		match rig.Match
		count int
	}{
		"all":             {all, 8},
		"created":         {rig.Match{Verb: "POST", Code: 201}, 1},
		"refused":         {rig.Match{Verb: "POST", Code: 409}, 1},
		"patched":         {rig.Match{Verb: "PATCH", DryRun: rig.None, Subresource: rig.None}, 3},
		"patched dry":     {rig.Match{Verb: "PATCH", DryRun: "All"}, 1},
		"patched at all":  {rig.Match{Verb: "PATCH", Version: "v1"}, 4},
		"listed":          {rig.Match{Verb: "LIST"}, 1},
		"deleted":         {rig.Match{Verb: "DELETE"}, 1},
		"of a status":     {rig.Match{Subresource: "status"}, 0},
		"of other groups": {rig.Match{Group: "apps"}, 0},
	} {
		if got := made.Count(want.match); got != want.count {
			t.Errorf("%s: %d, want %d, of\n%v", name, got, want.count, made)
		}
	}
}

func TestRequestsCountTogetherOnce(t *testing.T) {
	requests := rig.Requests{
		{Verb: "PATCH", Version: "v1", Resource: "pods", Code: 200}:                        2,
		{Verb: "PATCH", Version: "v1", Resource: "pods", Subresource: "status", Code: 200}: 3,
		{Verb: "GET", Group: "apps", Version: "v1", Resource: "deployments", Code: 404}:    5,
	}
	if got := requests.Count(); got != 10 {
		t.Errorf("all are %d", got)
	}
	if got := requests.Count(rig.Match{Verb: "PATCH"}, rig.Match{Subresource: "status"}); got != 5 {
		t.Errorf("either are %d", got)
	}
	want := "GET    apps/v1/deployments -> 404: 5\nPATCH  v1/pods -> 200: 2\nPATCH  v1/pods/status -> 200: 3"
	if got := requests.String(); got != want {
		t.Errorf("printed\n%s", got)
	}
	if got := requests.Sub(requests); len(got) != 0 {
		t.Errorf("nothing more is %v", got)
	}
}

func TestMetricSumsWhatMatches(t *testing.T) {
	cp := rigtest.ControlPlane(t)
	read := func(name string, labels map[string]string) float64 {
		t.Helper()
		value, err := cp.Metric(t.Context(), name, labels)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	if read("apiserver_admission_webhook_fail_open_count", nil) != 0 {
		t.Error("a webhook that does not exist has failed open")
	}
	ok := read("apiserver_request_total", map[string]string{"code": "200"})
	if all := read("apiserver_request_total", nil); ok == 0 || all < ok {
		t.Errorf("%v requests, of them %v with 200", all, ok)
	}
	if read("apiserver_request_duration_seconds_count", nil) == 0 {
		t.Error("a part of a histogram reads as 0")
	}
}
