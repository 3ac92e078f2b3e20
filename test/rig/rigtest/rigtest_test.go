package rigtest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) {
	rigtest.Main(m, rigtest.WithTestCRDs("Widget"), rigtest.With(func(o *rig.Options) { o.Log = os.Stderr }))
}

// A double of testing.TB notes how it failed.
type double struct {
	testing.TB
	failure string
}

func (d *double) Helper() {}

func (d *double) Fatalf(format string, args ...any) {
	d.failure = fmt.Sprintf(format, args...)
	panic(d)
}

func TestEventuallyWaitsForTheCondition(t *testing.T) {
	tries := 0
	rigtest.Eventually(t, 10*time.Second, func() error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if tries != 3 {
		t.Errorf("tried %d times", tries)
	}
}

func TestEventuallyTellsTheLastError(t *testing.T) {
	tb := &double{TB: t}
	defer func() {
		if recover() != any(tb) || !strings.Contains(tb.failure, "not within 60ms: still red") {
			t.Errorf("it failed with %q", tb.failure)
		}
	}()
	rigtest.Eventually(tb, 60*time.Millisecond, func() error { return errors.New("still red") })
}

func TestNamespacesAreOfTheTestAlone(t *testing.T) {
	t.Run("A long name, with (signs) and more than fifty characters", func(t *testing.T) {
		a, b := rigtest.Namespace(t), rigtest.Namespace(t)
		if a == b || !strings.HasPrefix(a, "testnamespacesareofthetestalone-a-long-name-") {
			t.Errorf("they are %q and %q", a, b)
		}
		if err := rigtest.Client(t).Get(t.Context(), client.ObjectKey{Name: a}, &corev1.Namespace{}); err != nil {
			t.Error(err)
		}
	})
}

func TestTheControlPlaneIsShared(t *testing.T) {
	cp := rigtest.ControlPlane(t)
	if again := rigtest.ControlPlane(t); again != cp {
		t.Error("a second one was started")
	}
	if _, err := os.Stat(filepath.Join(cp.Dir(), "kube-apiserver.log")); err != nil {
		t.Error(err)
	}
	if cp.Process(rig.ControllerManager) != nil {
		t.Error("a controller manager that nobody asked for is there")
	}
}
