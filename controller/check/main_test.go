package check_test

import (
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// Dogear's CRDs are not there from the beginning: that is checked, too.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	rigtest.Main(m, rigtest.WithTestCRDs("Widget", "Strict"), rigtest.WithCertManagerCRDs())
}
