package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	lookEvery    = 50 * time.Millisecond // between two looks at a Pod of which nothing is heard
	refreshEvery = time.Second           // of volumes
)

// A worker brings about what one Pod says. All but latest is its goroutine's.
type worker struct {
	node       *Node
	id         types.NamespacedName
	uid        types.UID
	folder     string // of volumes and other files of the Pod
	address    string // at which its processes listen
	shown      string // the same, for the API server
	containers []*container
	mounts     map[string]mounts          // by container
	tokens     map[string]token           // by audience and path
	placed     map[string]map[string]file // by volume
	refreshAt  time.Time
	mounted    bool
	reported   *corev1.PodStatus
	writeAt    time.Time // not before: the last write failed
	since      metav1.Time
	released   bool // the API server was told that nothing runs any more
	wake       chan struct{}

	mu     sync.Mutex
	latest *corev1.Pod // nil once it is gone
}

func newWorker(n *Node, pod *corev1.Pod, number int) *worker {
	shown := n.addresses.shown(number)
	w := &worker{
		node: n, id: client.ObjectKeyFromObject(pod), uid: pod.UID, latest: pod,
		folder:  filepath.Join(n.folder(), fmt.Sprintf("%s_%s_%.8s", pod.Namespace, pod.Name, pod.UID)),
		address: host(shown), shown: shown,
		mounts: map[string]mounts{}, tokens: map[string]token{}, placed: map[string]map[string]file{}, since: metav1.Now(), wake: make(chan struct{}, 1),
	}
	for i := range pod.Spec.Containers {
		w.containers = append(w.containers, newContainer(w, &pod.Spec.Containers[i]))
	}
	return w
}

// update tells the worker of a change, or with nil that the Pod is gone.
func (w *worker) update(pod *corev1.Pod) {
	w.mu.Lock()
	w.latest = pod
	w.mu.Unlock()
	w.poke()
}

// poke makes the worker look now.
func (w *worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default: // it will anyway
	}
}

// run works until the Pod is gone or the node stops; then nothing runs.
func (w *worker) run() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for w.node.ctx.Err() == nil {
		w.mu.Lock()
		pod := w.latest
		w.mu.Unlock()
		if pod == nil {
			break
		}
		w.look(w.node.ctx, pod)
		select {
		case <-w.node.ctx.Done():
		case <-w.wake:
		case <-tick.C:
		}
	}
	for _, c := range w.containers {
		c.kill()
	}
	_ = os.RemoveAll(w.folder) // the folder of the control plane goes, too
}

func (w *worker) look(ctx context.Context, pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		w.advance(ctx, pod)
		w.report(ctx, pod)
		return
	}
	ended := true
	for _, c := range w.containers {
		c.stop(pod)
		ended = ended && c.process.Load() == nil
	}
	if w.report(ctx, pod) && ended {
		w.release(ctx, pod)
	}
}

// advance starts what should run, once the volumes are there.
func (w *worker) advance(ctx context.Context, pod *corev1.Pod) {
	if finished(pod) {
		return
	}
	if now := time.Now(); !now.Before(w.refreshAt) {
		err := w.mount(ctx, pod)
		w.refreshAt = now.Add(refreshEvery)
		if err != nil && !w.mounted {
			w.refreshAt = now.Add(retryAfter)
			for _, c := range w.containers {
				c.waits("ContainerCreating", err)
			}
		}
		if err != nil {
			w.node.log.Printf("volumes of %s: %v", w.id, err) // a mounted one keeps its files
		}
		w.mounted = w.mounted || err == nil
	}
	if !w.mounted {
		return
	}
	for _, c := range w.containers {
		c.advance(ctx, pod)
	}
}

// release deletes the Pod for good. It may stay for its finalizers.
func (w *worker) release(ctx context.Context, pod *corev1.Pod) {
	if w.released || time.Now().Before(w.writeAt) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	err := w.node.admin.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(0), client.Preconditions{UID: &w.uid})
	w.released, w.writeAt = client.IgnoreNotFound(err) == nil, time.Now().Add(retryAfter)
	w.node.log.Printf("%s has ended (%v)", w.id, err)
}
