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
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

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

// WithDogearCRDs installs the CRDs of the service.
func WithDogearCRDs() Option {
	return func(s *setup) { s.crds = append(s.crds, rig.DogearCRDs) }
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
	if code != 0 && os.Getenv(keepEnv) != "" {
		shared.cp.Keep()
		fmt.Fprintln(os.Stderr, "rigtest: logs and data are kept in", shared.cp.Dir())
	}
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
			return nil, errors.Join(err, cp.Stop())
		}
	}
	if manager := cp.Process(rig.ControllerManager); manager != nil && len(s.crds) > 0 {
		return cp, manager.Restart(ctx) // so that it knows the CRDs now, not in 30 s
	}
	return cp, nil
}
