// Package e2e runs operators against a real API server.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(programEnv); text != "" {
		ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr))) // a file, of which a failed test shows the end
		if err := runProgram(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctrl.SetLogger(logr.Discard()) // operators log into their own test
	klog.SetLogger(logr.Discard())
	// The tests wait more than they work. -parallel goes before this.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	rigtest.Main(m, rigtest.WithTestCRDs(), rigtest.WithCertManagerCRDs())
}
