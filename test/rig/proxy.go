package rig

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A Proxy passes TCP connections on to a target, and can make them fail. It
// sees bytes alone: TLS goes through it as it is, so a client must still name
// the target as its server (127.0.0.1 fits the API server's certificate).
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	cut     bool
	delay   time.Duration
	changed chan struct{} // closed and replaced whenever cut or delay change
	open    map[net.Conn]struct{}
}

// NewProxy listens on a free loopback port for connections to target, a
// host:port such as that of rig.ControlPlane.URL.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a proxy to %s: %w", target, err)
	}
	p := &Proxy{target: target, listener: listener, changed: make(chan struct{}), open: map[net.Conn]struct{}{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address that clients connect to, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut resets all connections, and each new one, until Restore.
func (p *Proxy) Cut() {
	p.set(true, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		reset(conn)
	}
}

// Delay holds back each piece of data by d in both directions, until Restore.
// A piece is what one read gives, 32 KiB at most; the next waits behind it.
func (p *Proxy) Delay(d time.Duration) { p.set(false, d) }

// Restore ends Cut and Delay; what was held back is passed on at once.
// Connections that were cut stay so.
func (p *Proxy) Restore() { p.set(false, 0) }

// Close ends the proxy and its connections, and waits for them.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Cut()
	p.running.Wait()
	return err
}

func (p *Proxy) set(cut bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.delay = cut, delay
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(conn) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.register(client, server) {
		reset(client)
		if server != nil {
			reset(server)
		}
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(server, client) })
	both.Go(func() { p.pump(client, server) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range []net.Conn{client, server} {
		delete(p.open, conn)
		conn.Close()
	}
}

// register notes open connections; it says no while the proxy is cut.
func (p *Proxy) register(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if !p.cut {
			p.open[conn] = struct{}{}
		}
	}
	return !p.cut
}

// pump copies one direction to its end, and passes on how it ended: an end as
// an end, an error as a reset of both sides.
func (p *Proxy) pump(to, from net.Conn) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		p.hold()
		if n > 0 {
			if _, failed := to.Write(piece[:n]); failed != nil {
				err = failed
			}
		}
		if errors.Is(err, io.EOF) {
			_ = to.(*net.TCPConn).CloseWrite() // it may be closed already
			return
		}
		if err != nil {
			reset(to)
			reset(from)
			return
		}
	}
}

func (p *Proxy) hold() {
	p.mu.Lock()
	delay, changed := p.delay, p.changed
	p.mu.Unlock()
	if delay == 0 {
		return
	}
	select {
	case <-time.After(delay):
	case <-changed:
	}
}

// reset closes a connection so that the other end gets an error, not an end.
func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0) // fails on a closed one, which is as well
	conn.Close()
}
