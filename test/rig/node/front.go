package node

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// A front listens at one address of a Service, as long as there are endpoints:
// without one, connections are refused.
type front struct {
	node     *Node
	address  string
	listener net.Listener

	mu      sync.Mutex
	targets []string
	leaving map[string]time.Time // until when targets that are gone still count
	next    int
}

// update replaces the targets. It returns when one of those that are gone
// stops to count, 0 if there is none.
func (f *front) update(targets []string) (wait time.Duration, err error) {
	now := time.Now()
	f.mu.Lock()
	leaving := map[string]time.Time{}
	for _, old := range f.targets {
		if slices.Contains(targets, old) {
			continue
		}
		until, known := f.leaving[old]
		if !known {
			until = now.Add(f.node.options.ProxyDelay)
		}
		if left := until.Sub(now); left > 0 {
			leaving[old] = until
			targets = append(targets, old)
			if wait == 0 || left < wait {
				wait = left
			}
		}
	}
	if !slices.Equal(f.targets, targets) {
		f.node.log.Printf("%s leads to %q", f.address, targets)
	}
	f.targets, f.leaving = targets, leaving
	f.mu.Unlock()
	if len(targets) == 0 {
		f.end()
	}
	if len(targets) > 0 && f.listener == nil {
		f.listener, err = net.Listen("tcp", f.address)
		if err == nil {
			listener := f.listener
			f.node.running.Go(func() { f.accept(listener) })
		}
	}
	return wait, err
}

// end refuses connections from now on. Those that are there stay.
func (f *front) end() {
	if f.listener != nil {
		f.listener.Close()
		f.listener = nil
	}
}

func (f *front) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			f.node.running.Go(func() { f.pass(conn.(*net.TCPConn)) })
		}
	}
}

// pass connects a client to the next target. One that is down is not passed
// over: nor does kube-proxy, which knows no more than the EndpointSlices.
func (f *front) pass(client *net.TCPConn) {
	f.mu.Lock()
	target := ""
	if len(f.targets) > 0 {
		f.next++
		target = f.targets[f.next%len(f.targets)]
	}
	f.mu.Unlock()
	conn, err := (&net.Dialer{}).DialContext(f.node.ctx, "tcp", target)
	if err != nil {
		f.node.log.Printf("%s to %s: %v", f.address, target, err)
		_ = client.SetLinger(0) // so that the client gets an error
		client.Close()
		return
	}
	server := conn.(*net.TCPConn)
	defer client.Close()
	defer server.Close()
	defer context.AfterFunc(f.node.ctx, func() {
		client.Close()
		server.Close()
	})()
	var both sync.WaitGroup
	both.Go(func() { copyTo(server, client) })
	both.Go(func() { copyTo(client, server) })
	both.Wait()
}

// copyTo copies one direction to its end: an end is passed on as an end, an
// error as a reset of both sides.
func copyTo(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err == nil {
		_ = to.CloseWrite() // it may be closed
		return
	}
	for _, conn := range []*net.TCPConn{to, from} {
		_ = conn.SetLinger(0)
		conn.Close()
	}
}
