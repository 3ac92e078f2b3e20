package rig_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/test/rig"
)

// echo answers each connection with what it reads.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func proxied(t *testing.T) (*rig.Proxy, net.Conn) {
	t.Helper()
	proxy, err := rig.NewProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	return proxy, dial(t, proxy)
}

func dial(t *testing.T, proxy *rig.Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ping sends a byte and waits for it to come back, past what came before it.
func ping(conn net.Conn, mark byte, within time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{mark}); err != nil {
		return err
	}
	for got := []byte{0}; got[0] != mark; {
		if _, err := io.ReadFull(conn, got); err != nil {
			return err
		}
	}
	return nil
}

// refused fails the test unless a new connection breaks, early or late.
func refused(t *testing.T, proxy *rig.Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", proxy.Addr())
	if err != nil {
		return
	}
	defer conn.Close()
	if err := ping(conn, 1, 10*time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("new connection: %v", err)
	}
}

func TestProxyPassesAndEnds(t *testing.T) {
	_, conn := proxied(t)
	if err := ping(conn, 3, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("after the end came %q, %v", rest, err)
	}
}

func TestProxyCutBreaksOldAndNewUntilRestored(t *testing.T) {
	proxy, conn := proxied(t)
	if err := ping(conn, 4, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	if err := ping(conn, 2, 10*time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("old connection: %v", err)
	}
	refused(t, proxy)
	proxy.Restore()
	if err := ping(dial(t, proxy), 1, 10*time.Second); err != nil {
		t.Errorf("restored: %v", err)
	}
}

func TestProxyDelayHoldsBackUntilRestored(t *testing.T) {
	proxy, conn := proxied(t)
	proxy.Delay(time.Hour)
	if err := ping(conn, 5, 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("delayed by an hour: %v", err)
	}
	proxy.Restore()
	if err := ping(conn, 6, 10*time.Second); err != nil {
		t.Errorf("restored: %v", err)
	}
	proxy.Delay(50 * time.Millisecond)
	begin := time.Now()
	if err := ping(conn, 7, 10*time.Second); err != nil || time.Since(begin) < 100*time.Millisecond {
		t.Errorf("came back after %v, %v; want 50 ms each way", time.Since(begin), err)
	}
}

func TestProxyToNobodyResets(t *testing.T) {
	proxy, err := rig.NewProxy("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	refused(t, proxy)
}
