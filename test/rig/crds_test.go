package rig_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func installTestCRDs(t *testing.T) {
	t.Helper()
	crds, err := rig.TestCRDs()
	if err != nil {
		t.Fatal(err)
	}
	if err := rigtest.ControlPlane(t).InstallCRDs(t.Context(), crds...); err != nil {
		t.Fatal(err)
	}
}

// object makes one of the kind, with spec.size 1.
func object(t *testing.T, kind string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1), "text": "a"}}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "test.dogear.dev", Version: "v1", Kind: kind})
	u.SetName("it")
	if kind != "ClusterWide" {
		u.SetNamespace(rigtest.Namespace(t))
	}
	if err := rigtest.Client(t).Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestStatusOfTestKinds(t *testing.T) {
	installTestCRDs(t)
	condition := `"conditions":[{"type":"Ready","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]`
	for name, c := range map[string]struct {
		kind, patch, want string
		refused           bool
	}{
		"Widget keeps all":               {kind: "Widget", patch: `{"a":{"b":1}}`, want: `{"a":{"b":1}}`},
		"Bare keeps all":                 {kind: "Bare", patch: `{"a":{"b":1}}`, want: `{"a":{"b":1}}`},
		"Frozen keeps all":               {kind: "Frozen", patch: `{"a":1}`, want: `{"a":1}`},
		"Strict keeps conditions":        {kind: "Strict", patch: `{"a":1,"observedGeneration":2,` + condition + `}`, want: `{"observedGeneration":2,` + condition + `}`},
		"Nested keeps below dogear":      {kind: "Nested", patch: `{"a":1,"dogear":{"b":{"c":2}}}`, want: `{"dogear":{"b":{"c":2}}}`},
		"Phased keeps a phase":           {kind: "Phased", patch: `{"myapp":{"phase":"Up","b":1}}`, want: `{"myapp":{"phase":"Up"}}`},
		"Phased wants a string":          {kind: "Phased", patch: `{"myapp":{"phase":1}}`, refused: true},
		"Enumed keeps Good":              {kind: "Enumed", patch: `{"a":1,"result":"Good"}`, want: `{"result":"Good"}`},
		"Enumed refuses the rest":        {kind: "Enumed", patch: `{"result":"Fine"}`, refused: true},
		"ClusterWide keeps a phase":      {kind: "ClusterWide", patch: `{"a":1,"phase":"Up"}`, want: `{"phase":"Up"}`},
		"Strict refuses a bad date":      {kind: "Strict", patch: `{"conditions":[{"type":"R","status":"True","reason":"R","message":"","lastTransitionTime":"now"}]}`, refused: true},
		"Strict wants a whole condition": {kind: "Strict", patch: `{"conditions":[{"type":"R"}]}`, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			admin, u := rigtest.Client(t), object(t, c.kind)
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+c.patch+`}`))
			var err error
			if c.kind == "Bare" {
				err = admin.Patch(t.Context(), u, patch)
			} else {
				err = admin.Status().Patch(t.Context(), u, patch)
			}
			if c.refused != (err != nil) {
				t.Fatalf("refused: %v, want %v", err, c.refused)
			}
			if !c.refused && jsonOf(t, u.Object["status"]) != jsonOf(t, json.RawMessage(c.want)) {
				t.Errorf("status is %v, want %s", u.Object["status"], c.want)
			}
			if err := admin.Delete(t.Context(), u); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFrozenSpecCannotBeChanged(t *testing.T) {
	installTestCRDs(t)
	u := object(t, "Frozen")
	if err := unstructured.SetNestedField(u.Object, int64(2), "spec", "size"); err != nil {
		t.Fatal(err)
	}
	if err := rigtest.Client(t).Update(t.Context(), u); err == nil {
		t.Error("it was changed")
	}
}

func TestCertManagerCRDsInstall(t *testing.T) {
	crds, err := rig.CertManagerCRDs()
	if err != nil {
		t.Fatal(err)
	}
	if err := rigtest.ControlPlane(t).InstallCRDs(t.Context(), crds...); err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateList"})
	if err := rigtest.Client(t).List(t.Context(), list); err != nil {
		t.Error(err)
	}
}

func TestUnknownTestKindIsAnError(t *testing.T) {
	if _, err := rig.TestCRDs("Widget", "Gadget"); err == nil {
		t.Error("a kind that is not there was found")
	}
	if crds, err := rig.TestCRDs("Widget", "Bare"); err != nil || len(crds) != 2 {
		t.Errorf("found %d, %v", len(crds), err)
	}
}

// jsonOf returns v as JSON with sorted keys.
func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var any any
	if err := json.Unmarshal(text, &any); err != nil {
		t.Fatal(err)
	}
	text, _ = json.Marshal(any)
	return string(text)
}
