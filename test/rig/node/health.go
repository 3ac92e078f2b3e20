package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probeSoon is the time between probes as long as they fail: tests wait for
// success. Failures of one that has succeeded take the Pod's own time.
const probeSoon = 100 * time.Millisecond

// health is what the probes of a process found; stuck is one of which the
// startup probe gave up.
type health struct{ started, ready, stuck bool }

// watchHealth probes a process until its end.
func (w *worker) watchHealth(p *Process, c *corev1.Container) {
	set := func(h health) {
		if old := p.health.Swap(&h); old != nil && *old != h {
			w.poke()
		}
	}
	set(health{started: c.StartupProbe == nil, ready: c.StartupProbe == nil && c.ReadinessProbe == nil})
	w.node.running.Go(func() {
		if c.StartupProbe != nil && !w.startup(p, c) {
			set(health{stuck: true})
			return
		}
		set(health{started: true, ready: c.ReadinessProbe == nil})
		if c.ReadinessProbe != nil {
			w.readiness(p, c, func(ready bool) { set(health{started: true, ready: ready}) })
		}
	})
}

// startup probes until success. It gives up after the time that the Pod's
// failures would take.
func (w *worker) startup(p *Process, c *corev1.Container) bool {
	probe := c.StartupProbe
	limit := seconds(probe.InitialDelaySeconds) + time.Duration(probe.FailureThreshold)*seconds(probe.PeriodSeconds)
	for wait := seconds(probe.InitialDelaySeconds); pause(p, wait); wait = probeSoon {
		if w.probe(c, probe) == nil {
			return true
		}
		if time.Since(p.started) > limit {
			return false
		}
	}
	return false
}

func (w *worker) readiness(p *Process, c *corev1.Container, set func(bool)) {
	probe := c.ReadinessProbe
	good, bad, ready := int32(0), int32(0), false
	for wait := seconds(probe.InitialDelaySeconds); pause(p, wait); {
		if err := w.probe(c, probe); err == nil {
			good, bad = good+1, 0
		} else {
			good, bad = 0, bad+1
			if ready {
				w.node.log.Printf("readiness of %s of %s: %v", c.Name, w.id, err)
			}
		}
		switch {
		case good >= probe.SuccessThreshold:
			ready = true
		case bad >= probe.FailureThreshold:
			ready = false
		}
		set(ready)
		if wait = probeSoon; ready {
			wait = seconds(probe.PeriodSeconds)
		}
	}
}

// pause tells whether the process still runs after a time.
func pause(p *Process, wait time.Duration) bool {
	select {
	case <-p.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// prober follows no redirects, which count as success, and trusts everybody,
// as kubelets do.
var prober = &http.Client{
	Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
}

func (w *worker) probe(c *corev1.Container, probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(w.node.ctx, seconds(max(probe.TimeoutSeconds, 1)))
	defer cancel()
	if tcp := probe.TCPSocket; tcp != nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.target(c, tcp.Host, tcp.Port))
		if err == nil {
			conn.Close()
		}
		return err
	}
	get := probe.HTTPGet
	path, err := url.Parse(get.Path)
	if err != nil {
		return err
	}
	target := url.URL{Scheme: strings.ToLower(string(get.Scheme)), Host: w.target(c, get.Host, get.Port), Path: path.Path, RawQuery: path.RawQuery}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	for _, header := range get.HTTPHeaders {
		request.Header.Add(header.Name, header.Value)
	}
	response, err := prober.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("%s: %s", target.String(), response.Status)
	}
	return nil
}

// target is the address that a probe goes to.
func (w *worker) target(c *corev1.Container, host string, port intstr.IntOrString) string {
	if host == "" {
		host = w.address
	}
	number := port.IntValue()
	for _, known := range c.Ports {
		if port.Type == intstr.String && known.Name == port.StrVal {
			number = int(known.ContainerPort)
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(number))
}
