package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// templates are a Deployment with its Service, and a Job each that runs after
// they are installed and before they are removed.
const templates = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: it}
spec:
  replicas: 1
  selector: {matchLabels: {app: it}}
  template:
    metadata: {labels: {app: it}}
    spec:
      containers:
        - name: app
          image: example.com/team/app:{{ .Chart.AppVersion }}
          args: [app, serve]
          ports: [{name: http, containerPort: 8080}]
          readinessProbe: {httpGet: {path: /ready, port: http}}
---
apiVersion: v1
kind: Service
metadata: {name: it}
spec:
  selector: {app: it}
  ports: [{port: 80, targetPort: http}]
{{- range $hook, $code := .Values.hooks }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $hook }}
  annotations: {helm.sh/hook: {{ $hook }}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: app, image: "example.com/team/app:v1", args: [app, exit, "{{ $code }}"]}
{{- end }}
`

func TestHelmWaitsForWhatReallyRuns(t *testing.T) {
	if _, err := rig.Binary("helm"); err != nil {
		t.Skipf("%v: run 'make helm'", err)
	}
	n, namespace, folder := theNode(t), newNamespace(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: it\nversion: 0.1.0\nappVersion: v1\n", "values.yaml": "hooks: {post-install: 0, pre-delete: 7}\n", "templates/all.yaml": templates,
	} {
		if err := os.WriteFile(filepath.Join(folder, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	helm := func(args ...string) error {
		_, err := rigtest.ControlPlane(t).Helm(t.Context(), append(args, "--namespace="+namespace, "--wait", "--timeout=30s")...)
		return err
	}
	if err := helm("install", "it", folder); err != nil {
		t.Fatal(err)
	}
	pods, err := n.Pods(t.Context(), namespace, "app=it")
	if err != nil || len(pods) != 1 || !isReady(&pods[0]) {
		t.Errorf("after install --wait: %v, %v", pods, err)
	}
	if err := helm("uninstall", "it"); err == nil || !strings.Contains(err.Error(), "pre-delete") {
		t.Errorf("a hook that fails: %v", err)
	}
	if err := helm("uninstall", "it", "--no-hooks"); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		gone(t, &pod)
	}
}
