// Package rigtest gives tests a control plane of package rig.
//
//	func TestMain(m *testing.M) { rigtest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		cp, namespace := rigtest.ControlPlane(t), rigtest.Namespace(t)
//		...
//	}
package rigtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
)

// keepEnv names the variable that keeps the logs and data of a failed run.
const keepEnv = "DOGEAR_KEEP"

// pollEvery is the time between two tries of Eventually.
const pollEvery = 25 * time.Millisecond

// An Option is applied before the control plane of a test binary starts.
type Option func(*setup)

type setup struct {
	options rig.Options
	crds    []func() ([]*apiextensionsv1.CustomResourceDefinition, error)
}

// With changes the options of the control plane.
func With(change func(*rig.Options)) Option { return func(s *setup) { change(&s.options) } }

// WithControllerManager adds kube-controller-manager (rig.DefaultControllers).
func WithControllerManager() Option {
	return With(func(o *rig.Options) { o.ControllerManager = true })
}

// WithTestCRDs installs the kinds of rig.TestCRDs, all if none is named.
func WithTestCRDs(kinds ...string) Option {
	return func(s *setup) {
		s.crds = append(s.crds, func() ([]*apiextensionsv1.CustomResourceDefinition, error) { return rig.TestCRDs(kinds...) })
	}
}

// WithCertManagerCRDs installs the CRDs of cert-manager.
func WithCertManagerCRDs() Option {
	return func(s *setup) { s.crds = append(s.crds, rig.CertManagerCRDs) }
}

var shared struct {
	setup setup
	once  sync.Once
	cp    *rig.ControlPlane
	err   error
}

// Main runs the tests of a binary and exits. The control plane that they
// share starts when the first of them asks for it, and ends after the last.
// With DOGEAR_KEEP set, the folder of a failed run is kept and printed.
func Main(m *testing.M, options ...Option) {
	for _, option := range options {
		option(&shared.setup)
	}
	code := m.Run()
	if shared.cp != nil {
		if err := finish(code); err != nil {
			fmt.Fprintln(os.Stderr, "rigtest:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func finish(code int) error {
	dir := shared.cp.Dir()
	if code == 0 || os.Getenv(keepEnv) == "" {
		return errors.Join(shared.cp.Stop(), os.RemoveAll(dir))
	}
	fmt.Fprintln(os.Stderr, "rigtest: logs and data are kept in", dir)
	return shared.cp.Stop()
}

// ControlPlane returns the control plane that all tests of the binary share,
// started now if it is not; the binary's TestMain must call Main. Under -short
// the test is skipped. Without the programs it fails, and says what to run.
func ControlPlane(t testing.TB) *rig.ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	shared.once.Do(func() { shared.cp, shared.err = start(&shared.setup) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cp
}

func start(s *setup) (*rig.ControlPlane, error) {
	if s.options.Dir == "" {
		dir, err := os.MkdirTemp("", "dogear-rig-"+fmt.Sprint(os.Getpid())+"-")
		if err != nil {
			return nil, err
		}
		s.options.Dir = dir // so that it can outlive Stop
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cp, err := rig.Start(ctx, s.options)
	if err != nil {
		return nil, err
	}
	for _, load := range s.crds {
		crds, err := load()
		if err == nil {
			err = cp.InstallCRDs(ctx, crds...)
		}
		if err != nil {
			return cp, errors.Join(err, cp.Stop())
		}
	}
	return cp, nil
}

// Client returns the administrator's client (rig.ControlPlane.Client).
func Client(t testing.TB) client.Client {
	t.Helper()
	admin, err := ControlPlane(t).Client()
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// Namespace makes a namespace for the test and returns its name. It stays: the
// whole control plane goes after the last test.
func Namespace(t testing.TB) string {
	t.Helper()
	prefix := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.Name()))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix[:min(len(prefix), 50)] + "-"}}
	if err := Client(t).Create(t.Context(), namespace); err != nil {
		t.Fatalf("make a namespace: %v", err)
	}
	return namespace.Name
}

// Eventually calls done every 25 ms until it returns nil, and fails the test
// at the timeout, with the last error. done gets no deadline of its own: give
// its requests t.Context or a shorter one.
func Eventually(t testing.TB, timeout time.Duration, done func() error) {
	t.Helper()
	deadline := time.After(timeout)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := done()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("not within %v: %v", timeout, err)
		case <-t.Context().Done():
			t.Fatalf("test ended while waiting: %v", err)
		case <-tick.C:
		}
	}
}
