package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
)

// kubeconfigOf makes a kubeconfig that leads to a server.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := `{"clusters": [{"name": "a", "cluster": {"server": "` + server + `"}}], "contexts": [{"name": "a", "context": {"cluster": "a"}}], "current-context": "a"}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A server that isn't there, and one that takes connections and never answers: the
// commands end in time, say what to look at, and report on nothing that they have
// not seen.
func TestServersThatDoNotAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for server, want := range map[string]string{
		"http://" + closed.Addr().String():   "connection refused",
		"http://" + listener.Addr().String(): "not done within 300ms (see --timeout)",
	} {
		for _, command := range []string{"migrate", "uninstall --yes"} {
			args := append(strings.Fields(command), "--timeout=300ms", "--kubeconfig="+kubeconfigOf(t, server))
			began := time.Now()
			stdout, stderr, status := dogear(t, demo.Options{}, args...)
			if took := time.Since(began); took > 30*time.Second { // half of what a request may take
				t.Errorf("dogear %s: it took %v", command, took)
			}
			for _, want := range []string{want, server + " does not answer", "see whether 'kubectl get --raw /readyz' answers"} {
				if !strings.Contains(stderr, want) {
					t.Errorf("dogear %s: no %q in %s", command, want, stderr)
				}
			}
			if status != exitFailed || strings.Contains(stdout, "dogear.dev") || strings.Contains(stderr, "server groups") {
				t.Errorf("dogear %s: status %d, %s%s", command, status, stdout, stderr)
			}
		}
	}
}

// A check has a shorter time for each request, and does not wait for that either.
func TestACheckEndsInTime(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, command := range []string{"check", "check --wait"} {
		args := append(strings.Fields(command), "--timeout=300ms", "--kubeconfig="+kubeconfigOf(t, "http://"+listener.Addr().String()))
		began := time.Now()
		stdout, stderr, status := dogear(t, demo.Options{}, args...)
		if took := time.Since(began); took > 10*time.Second || status != exitFailed || !strings.Contains(stdout, "look whether the API server is slow") {
			t.Errorf("dogear %s: status %d after %v: %s%s", command, status, took, stdout, stderr)
		}
	}
}
