// Package endpoints tests the examples as what they are: files to apply, and
// programs that the service calls.
package endpoints

import (
	"os/exec"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // the test has its own
	rigtest.Main(m, rigtest.WithCertManagerCRDs(), rigtest.WithDogearCRDs())
}

// TestExamples has one service for all: a cluster has one.
func TestExamples(t *testing.T) {
	namespace := serve(t)
	for name, test := range map[string]func(*example){
		"Python":   func(e *example) { e.speaks(e.program("python3"), "python/endpoint.py") },
		"Node":     func(e *example) { e.speaks(e.program("node", "nodejs"), "node/endpoint.mjs") },
		"Go":       func(e *example) { e.speaks(e.build()) },
		"Shell":    shell,
		"Later":    func(e *example) { later(e, namespace) },
		"Defaults": defaults,
		"Files":    files,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newExample(t))
		})
	}
}

// program finds an interpreter, which may be missing.
func (e *example) program(name string, debian ...string) string {
	e.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		e.Skipf("%s is missing: install the Debian package %s, as by `make examples-deps`", name, append(debian, name)[0])
	}
	return path
}

// build builds the Go endpoint.
func (e *example) build() string {
	e.Helper()
	program := e.TempDir() + "/endpoint"
	if text, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./go").CombinedOutput(); err != nil {
		e.Fatalf("build the endpoint: %v\n%s", err, text)
	}
	return program
}
