package node

import (
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// leastGrace is what a process gets after SIGTERM when its preStop hook has
// used up all the time of its Pod.
const leastGrace = 2 * time.Second

// An ending is how far the end of a process has come: preStop sleep, SIGTERM,
// SIGKILL at the end of the grace period.
type ending struct {
	begun, asked time.Time
	killed       bool
}

// step does what is due. The grace may have become shorter since the last.
func (e *ending) step(p *Process, spec *corev1.Container, seconds int64) {
	now, grace := time.Now(), time.Duration(seconds)*time.Second
	if e.begun.IsZero() {
		e.begun = now
	}
	var sleep time.Duration
	if hooks := spec.Lifecycle; hooks != nil && hooks.PreStop != nil && hooks.PreStop.Sleep != nil {
		sleep = min(time.Duration(hooks.PreStop.Sleep.Seconds)*time.Second, grace)
	}
	if e.asked.IsZero() && !now.Before(e.begun.Add(sleep)) {
		e.asked = now
		_ = p.Signal(syscall.SIGTERM) // it may have ended
	}
	if e.asked.IsZero() || e.killed || now.Before(e.begun.Add(grace)) {
		return
	}
	if sleep > 0 && grace > 0 && now.Before(e.asked.Add(leastGrace)) {
		return
	}
	e.killed = true
	_ = p.Kill() // it may have ended
}
