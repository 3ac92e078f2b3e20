package node_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/node"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// image is what stands for the test binary itself: see app_test.go.
const image = "example.com/team/app"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "app" {
		beApp(os.Args[2:])
	}
	ctrl.SetLogger(logr.Discard())
	rigtest.Main(m, rigtest.With(func(o *rig.Options) {
		o.ControllerManager, o.Controllers = true, node.Controllers
	}))
}

// exits are those that the node told.
var exits struct {
	mu  sync.Mutex
	all []node.Exit
}

// exitsOf returns the ends of a Pod's processes up to now.
func exitsOf(namespace, pod string) (found []node.Exit) {
	exits.mu.Lock()
	defer exits.mu.Unlock()
	for _, exit := range exits.all {
		if exit.Namespace == namespace && exit.Pod == pod {
			found = append(found, exit)
		}
	}
	return found
}

var shared struct {
	once sync.Once
	node *node.Node
	err  error
}

// theNode returns the node that all tests share.
func theNode(t *testing.T) *node.Node {
	t.Helper()
	cp := rigtest.ControlPlane(t)
	shared.once.Do(func() {
		self, err := os.Executable()
		if err != nil {
			shared.err = err
			return
		}
		shared.node, shared.err = node.Start(context.Background(), cp, node.Options{
			Images: map[string]string{image: self, image + ":missing": "/nowhere/at/all"},
			OnExit: func(e node.Exit) {
				exits.mu.Lock()
				defer exits.mu.Unlock()
				exits.all = append(exits.all, e)
			},
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			tell(t, fmt.Sprintf("%s/node.log", cp.Dir()))
		}
	})
	return shared.node
}

// tell shows the end of a log in the output of a test that has failed.
func tell(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	t.Logf("%s (%v):\n%s", path, err, text[max(0, len(text)-6000):])
}
