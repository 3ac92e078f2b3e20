package rig_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// chart writes one of a single ConfigMap.
func chart(t *testing.T) string {
	t.Helper()
	if _, err := rig.Binary("helm"); err != nil {
		t.Skipf("%v: run 'make helm'", err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: small\nversion: 0.1.0\n",
		"values.yaml": "color: red\n",
		"templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n" +
			"data: {color: {{ required \"which color?\" .Values.color }}, namespaces: \"{{ len (lookup \"v1\" \"Namespace\" \"\" \"\").items }}\"}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestHelmInstallsAsTheAdministrator(t *testing.T) {
	cp, namespace, folder := rigtest.ControlPlane(t), rigtest.Namespace(t), chart(t)
	t.Setenv("KUBECONFIG", "/nowhere")
	t.Setenv("HELM_NAMESPACE", "nowhere")
	helm := func(args ...string) (string, error) {
		return cp.Helm(t.Context(), append(args, "--namespace="+namespace)...)
	}
	out, err := helm("install", "it", folder, "--set=color=blue")
	if err != nil || !strings.Contains(out, "STATUS: deployed") {
		t.Fatalf("%q, %v", out, err)
	}
	object := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespace, Name: "it"}
	if err := rigtest.Client(t).Get(t.Context(), key, object); err != nil || object.Data["color"] != "blue" || object.Data["namespaces"] == "0" {
		t.Errorf("%v, %v", object.Data, err)
	}
	out, err = helm("upgrade", "it", folder, "--set=color=")
	if out != "" || err == nil || !strings.Contains(err.Error(), "which color?") || !strings.HasPrefix(err.Error(), "helm upgrade it") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := helm("list", "--short"); out != "it\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestHelmEndsWithItsContext(t *testing.T) {
	cp, folder := rigtest.ControlPlane(t), chart(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := cp.Helm(ctx, "install", "it", folder)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", out, err)
	}
}
