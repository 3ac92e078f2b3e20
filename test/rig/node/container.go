package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The pause before a restart doubles from the first to the last, and begins
// anew for a process that ran for calm.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 4 * time.Second
	calm       = 10 * time.Second
)

// A container is one of a Pod, over all its restarts. All but process is the
// worker's goroutine's.
type container struct {
	worker      *worker
	spec        *corev1.Container
	process     atomic.Pointer[Process] // nil when none runs
	state, last corev1.ContainerState
	restarts    int32
	pause       time.Duration
	startAt     time.Time
	logged      int64 // size of the log when the process started
	ending      ending
}

func newContainer(w *worker, spec *corev1.Container) *container {
	c := &container{worker: w, spec: spec}
	c.waits("ContainerCreating", nil)
	return c
}

func (c *container) waits(reason string, err error) {
	c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	if err != nil {
		c.state.Waiting.Message = err.Error()
	}
}

// advance notes an end and starts the process if it should run now.
func (c *container) advance(ctx context.Context, pod *corev1.Pod) {
	c.note(pod)
	if p := c.process.Load(); p != nil {
		if p.health.Load().stuck {
			c.ending.step(p, c.spec, *pod.Spec.TerminationGracePeriodSeconds)
		}
		return
	}
	now := time.Now()
	if c.state.Terminated != nil || now.Before(c.startAt) {
		return
	}
	if err := c.start(ctx, pod); err != nil {
		reason := "CreateContainerError"
		if unusable := (*unusable)(nil); errors.As(err, &unusable) {
			reason = unusable.reason
		}
		c.waits(reason, err)
		c.startAt = now.Add(retryAfter)
		c.worker.node.log.Printf("start %s of %s: %v", c.spec.Name, c.worker.id, err)
	}
}

func (c *container) start(ctx context.Context, pod *corev1.Pod) error {
	if err := supported(pod, c.spec); err != nil {
		return err
	}
	command, err := c.worker.command(ctx, pod, c.spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.message(), nil, 0o600); err != nil {
		return err
	}
	p, err := c.worker.node.launch(pod, c, command)
	if err != nil {
		return err
	}
	if c.last.Terminated != nil {
		c.restarts++
	}
	c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.started)}}
	c.ending = ending{}
	c.worker.watchHealth(p, c.spec)
	c.process.Store(p)
	return nil
}

// note turns the end of the process into a state.
func (c *container) note(pod *corev1.Pod) {
	p := c.process.Load()
	if p == nil || !p.Ended() {
		return
	}
	c.process.Store(nil)
	exit := p.exit
	state := corev1.ContainerStateTerminated{
		ExitCode: int32(exit.Code), Reason: "Completed", Message: c.lastWords(exit.Code),
		StartedAt: metav1.NewTime(p.started), FinishedAt: metav1.NewTime(exit.Time), ContainerID: p.id(),
	}
	if exit.Code != 0 {
		state.Reason = "Error"
	}
	c.state = corev1.ContainerState{Terminated: &state}
	policy := pod.Spec.RestartPolicy
	if pod.DeletionTimestamp != nil || policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && exit.Code == 0 {
		return
	}
	if c.pause = min(2*c.pause, lastPause); c.pause == 0 || exit.Time.Sub(p.started) > calm {
		c.pause = firstPause
	}
	c.last, c.startAt = c.state, time.Now().Add(c.pause)
	c.waits("CrashLoopBackOff", fmt.Errorf("restart of container %q in %v", c.spec.Name, c.pause))
}

// stop ends the process in the time that the Pod has left.
func (c *container) stop(pod *corev1.Pod) {
	if p := c.process.Load(); p != nil {
		grace := *pod.Spec.TerminationGracePeriodSeconds
		if pod.DeletionGracePeriodSeconds != nil {
			grace = *pod.DeletionGracePeriodSeconds
		}
		c.ending.step(p, c.spec, grace)
	}
	c.note(pod)
}

func (c *container) kill() {
	if p := c.process.Load(); p != nil {
		_ = p.Kill() // it may have ended
		<-p.Done()
	}
}

// message is the file that stands for terminationMessagePath.
func (c *container) message() string {
	return filepath.Join(c.worker.folder, c.spec.Name+".message")
}

// lastWords are the message of an ended container: what it wrote for that, or
// the end of its log if it failed and the Pod says so.
func (c *container) lastWords(code int) string {
	const most = 2048
	text, _ := os.ReadFile(c.message()) // an unreadable one is none
	if len(text) == 0 && code != 0 && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		text, _ = os.ReadFile(c.worker.node.Log(c.worker.id.Namespace, c.worker.id.Name, c.spec.Name))
		text = text[min(int64(len(text)), c.logged):]
	}
	return strings.ToValidUTF8(string(text[max(0, len(text)-most):]), "")
}
