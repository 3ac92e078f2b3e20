package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
)

// Name is the name of the Node that all Pods are on.
const Name = "rig"

// Controllers are those that kube-controller-manager must run (see
// rig.Options.Controllers): the default ones and those that make and count
// Pods, their endpoints and the CA of their tokens.
var Controllers = append(slices.Clone(rig.DefaultControllers),
	"deployment-controller", "replicaset-controller", "job-controller", "ttl-after-finished-controller",
	"endpointslice-controller", "disruption-controller", "root-ca-certificate-publisher-controller")

// Options say what a node runs.
type Options struct {
	// Images maps references of images, exactly or without tag and digest, to
	// the programs that stand for their ENTRYPOINT.
	Images map[string]string
	// ProxyDelay is the time for which Services still lead to an endpoint that
	// is no longer ready: on real nodes the news takes its time.
	ProxyDelay time.Duration
	// OnExit is called after each end of a container's process, from a goroutine
	// of the node's.
	OnExit func(Exit)
	// Log gets a line per step. Default: the file node.log of the control plane.
	Log io.Writer
}

// A Node runs the Pods of one control plane.
type Node struct {
	options Options
	cp      *rig.ControlPlane
	admin   client.Client
	cache   cache.Cache
	proxy   *proxy
	log     *log.Logger
	file    *os.File // of the log, nil if it is not ours

	ctx     context.Context // ends with the node
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	stopped   bool
	workers   map[types.UID]*worker
	addresses addresses
}

// Start registers the node and runs what is and will be bound to it, until
// Stop or the end of the control plane. ctx bounds the start alone. A control
// plane has one node at most.
func Start(ctx context.Context, cp *rig.ControlPlane, options Options) (*Node, error) {
	n, err := prepare(cp, options)
	if err == nil {
		err = n.register(ctx)
	}
	if err == nil {
		err = n.watch(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	cp.BeforeStop(n.Stop)
	return n, nil
}

func prepare(cp *rig.ControlPlane, options Options) (*Node, error) {
	n := &Node{options: options, cp: cp, workers: map[types.UID]*worker{}}
	n.options.Images = map[string]string{}
	for image, program := range options.Images {
		path, err := filepath.Abs(program) // processes start in other folders
		if err != nil {
			return nil, err
		}
		n.options.Images[image] = path
	}
	if err := errors.Join(os.MkdirAll(n.logs(), 0o700), os.MkdirAll(n.folder(), 0o700)); err != nil {
		return nil, err
	}
	if options.Log == nil {
		file, err := os.OpenFile(filepath.Join(cp.Dir(), "node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		n.options.Log, n.file = file, file
	}
	n.log = log.New(n.options.Log, "", log.Ltime|log.Lmicroseconds)
	var err error
	if n.addresses, err = newAddresses(cp.URL()); err != nil {
		return nil, err
	}
	if n.admin, err = cp.Client(); err != nil {
		return nil, err
	}
	if n.cache, err = cache.New(cp.AdminConfig(), cache.Options{Scheme: n.admin.Scheme()}); err != nil {
		return nil, err
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.proxy = newProxy(n)
	return n, nil
}

// Stop kills all processes and closes all addresses of Services. Pods stay as
// they are in the API server. It may be called again.
func (n *Node) Stop() error {
	n.mu.Lock()
	n.stopped = true // nothing is added to running from here on
	n.mu.Unlock()
	n.cancel()
	n.running.Wait()
	if n.file != nil {
		n.file.Close()
	}
	return nil
}

// Pods returns the Pods of a namespace (all if it is "") that a label selector
// such as "app=a,tier!=b" fits, the oldest first, as the API server has them now.
func (n *Node) Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	fits, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := n.admin.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: fits}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(pods.Items, func(a, b corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return pods.Items, nil
}

// Process returns the process of a Pod's container, the first one's if
// container is "". It is an error if none runs now.
func (n *Node) Process(pod *corev1.Pod, container string) (*Process, error) {
	n.mu.Lock()
	w := n.workers[pod.UID]
	n.mu.Unlock()
	if w != nil {
		for _, c := range w.containers {
			if p := c.process.Load(); p != nil && !p.Ended() && (container == "" || container == c.spec.Name) {
				return p, nil
			}
		}
	}
	return nil, fmt.Errorf("no process of container %q in Pod %s/%s runs", container, pod.Namespace, pod.Name)
}

// Log returns the file of what a container has printed, over all its restarts.
func (n *Node) Log(namespace, pod, container string) string {
	return filepath.Join(n.logs(), namespace+"_"+pod+"_"+container+".log")
}

func (n *Node) logs() string   { return filepath.Join(n.cp.Dir(), "pods") }
func (n *Node) folder() string { return filepath.Join(n.cp.Dir(), "node") }
