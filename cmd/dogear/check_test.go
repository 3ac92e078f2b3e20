package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
	"github.com/dogear-dev/dogear/controller/check"
)

// nowhere is a kubeconfig of an API server that does not answer.
func nowhere(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}], "users": [{"name": "x", "user": {"token": "t"}}],
		"clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckOfAnAPIServerThatDoesNotAnswer(t *testing.T) {
	config := nowhere(t)
	stdout, stderr, status := dogear(t, demo.Options{}, "check", "--kubeconfig", config)
	if status != exitFailed || !strings.Contains(stderr, "dogear: 1 of the checks failed") {
		t.Errorf("status %d, %s", status, stderr)
	}
	for _, want := range []string{"FAIL reachable: https://127.0.0.1:1: ", "connection refused", "hint: see whether 'kubectl get --raw /readyz'", "FAIL Something is wrong: 1 check failed, "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	if strings.ContainsAny(stdout, "\x1b✓✗") {
		t.Errorf("colours or icons without a terminal: %s", stdout)
	}
}

func TestCheckAsJSON(t *testing.T) {
	stdout, _, status := dogear(t, demo.Options{}, "check", "--kubeconfig", nowhere(t), "-o", "json", "--wait", "--timeout=1s")
	report := &check.Report{}
	if err := json.Unmarshal([]byte(stdout), report); err != nil || status != exitFailed {
		t.Fatalf("status %d, %v: %s", status, err, stdout)
	}
	if report.Version == "" || report.Summary.Failed != 1 || report.Groups[0].Checks[0].Verdict != check.Failed {
		t.Errorf("got %s", stdout)
	}
}

// Somebody who may impersonate sees what another would see, in all requests.
func TestCheckAsSomebodyElse(t *testing.T) {
	const account = "system:serviceaccount:dogear:dogear-check"
	var asked, wrong atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.Header.Get("Impersonate-User") != account {
			wrong.Add(1)
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	dogear(t, demo.Options{}, "check", "--kubeconfig", kubeconfigOf(t, server.URL), "--as="+account)
	if asked.Load() == 0 || wrong.Load() > 0 {
		t.Errorf("%d requests, %d of them as somebody else", asked.Load(), wrong.Load())
	}
}

func TestCheckTellsWhatItWaitsFor(t *testing.T) {
	_, stderr, _ := dogear(t, demo.Options{}, "check", "--kubeconfig", nowhere(t), "--wait", "--timeout=1s")
	if n := strings.Count(stderr, "waiting for API server: reachable: https://127.0.0.1:1: "); n != 1 {
		t.Errorf("told %d times, want once: %s", n, stderr)
	}
}

func TestWrongUsageOfCheck(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", "xml"}, `--output is "xml": want text or json`},
		{[]string{"--timeout=0"}, "--timeout is 0s: want more than 0"},
		{[]string{"extra"}, "takes no arguments"},
		{[]string{"--domain=NO"}, "is no DNS name"},
		{[]string{"--object", dir + "/missing"}, "no such file"},
		{[]string{"--object", file("empty", "---\n# nothing\n")}, "there is no object in it"},
		{[]string{"--object", file("broken", "{")}, "--object"},
		{[]string{"--object", file("nokind", "metadata: {name: x}")}, "has no kind or no apiVersion"},
		{[]string{"--object", file("none", "{apiVersion: v1, kind: List, items: []}")}, "there is no object in it"},
		{[]string{"--object", file("inlist", "{apiVersion: v1, kind: List, items: [{metadata: {name: x}}]}")}, "has no kind or no apiVersion"},
		{[]string{"--object", file("notone", "{apiVersion: v1, kind: List, items: [x]}")}, "has an item that is no object"},
	} {
		stdout, stderr, status := dogear(t, demo.Options{}, append([]string{"check", "--kubeconfig", nowhere(t)}, c.args...)...)
		if status != exitUsage || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%q: status %d, %q, %q: want %q", c.args, status, stdout, stderr, c.want)
		}
	}
}

// A kubeconfig that cannot be used is no mistake on the command line.
func TestAConnectionThatCannotBeSetUpIsNoWrongUsage(t *testing.T) {
	path := nowhere(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(text), `"server":`, `"certificate-authority-data": "bm8=", "server":`, 1)
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := dogear(t, demo.Options{}, "check", "--kubeconfig", path)
	if status != exitFailed || !strings.Contains(stderr, "set up the client: ") || stdout != "" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

func TestObjectsAreReadFromAFile(t *testing.T) {
	const text = "# a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n{\"apiVersion\": \"v1\", \"kind\": \"Service\"}\n"
	objects, err := readObjects("-", strings.NewReader(text))
	if err != nil || len(objects) != 2 || objects[0].GetName() != "a" || objects[1].GetKind() != "Service" {
		t.Errorf("got %+v, %v", objects, err)
	}
}

// What kubectl prints for several objects is a list, and so is what a server says.
func TestListsAreReadObjectByObject(t *testing.T) {
	const text = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ServiceList, items: [{metadata: {name: b}}, {apiVersion: v1, kind: Service, metadata: {name: c}}]}
---
{apiVersion: example.com/v1, kind: WhiteList, metadata: {name: d}, spec: {items: []}}
`
	objects, err := readObjects("-", strings.NewReader(text))
	var have []string
	for _, o := range objects {
		have = append(have, o.GetAPIVersion()+" "+o.GetKind()+" "+o.GetName())
	}
	want := []string{"v1 ConfigMap a", "v1 Service b", "v1 Service c", "example.com/v1 WhiteList d"}
	if err != nil || !slices.Equal(have, want) {
		t.Errorf("got %q, %v, want %q", have, err, want)
	}
}
