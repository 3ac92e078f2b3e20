// Package e2e runs operators against a real API server.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
	if text := os.Getenv(programEnv); text != "" {
		if err := runProgram(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The tests wait more than they work. -parallel goes before this.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	rigtest.Main(m, rigtest.WithTestCRDs(), rigtest.WithCertManagerCRDs())
}
