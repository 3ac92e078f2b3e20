// Package service runs the service against a real API server, with endpoints
// behind real Services.
package service

import (
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // each test has its own
	rigtest.Main(m, rigtest.WithTestCRDs(), rigtest.WithCertManagerCRDs(), rigtest.WithDogearCRDs())
}
