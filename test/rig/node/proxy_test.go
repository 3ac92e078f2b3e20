package node

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

func endpoint(address string, ready, serving, terminating bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{
		Ready: &ready, Serving: &serving, Terminating: &terminating,
	}}
}

func TestEndpointsAreTheReadyOnesOfThePort(t *testing.T) {
	ready, unready := endpoint("10.1.1.1", true, true, false), endpoint("10.1.1.2", false, false, false)
	ending, ended := endpoint("10.1.1.3", false, true, true), endpoint("10.1.1.4", false, false, true)
	for name, tc := range map[string]struct {
		endpoints []discoveryv1.Endpoint
		port      string
		want      []string
	}{
		"ready":              {[]discoveryv1.Endpoint{ready, unready, ending, ended}, "web", []string{"127.1.1.1:8080"}},
		"another port":       {[]discoveryv1.Endpoint{ready}, "metrics", []string{"127.1.1.1:9090"}},
		"no such port":       {[]discoveryv1.Endpoint{ready}, "none", nil},
		"those that end":     {[]discoveryv1.Endpoint{unready, ending, ended}, "web", []string{"127.1.1.3:8080"}},
		"none":               {[]discoveryv1.Endpoint{unready, ended}, "web", nil},
		"unknown counts yes": {[]discoveryv1.Endpoint{{Addresses: []string{"10.1.1.9"}}}, "web", []string{"127.1.1.9:8080"}},
	} {
		slice := discoveryv1.EndpointSlice{Endpoints: tc.endpoints, Ports: []discoveryv1.EndpointPort{
			{Name: new("web"), Port: new(int32(8080))}, {Name: new("metrics"), Port: new(int32(9090))},
		}}
		if got := endpoints([]discoveryv1.EndpointSlice{slice}, tc.port); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// answering listens on a free address and answers each connection with it.
func answering(t *testing.T) string {
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
				fmt.Fprint(conn, listener.Addr())
				_, _ = io.Copy(conn, conn) // until the client's end
				conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func newFront(t *testing.T, delay time.Duration) *front {
	t.Helper()
	n := &Node{options: Options{ProxyDelay: delay}, log: log.New(t.Output(), "", 0), ctx: t.Context()}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	f := &front{node: n, address: listener.Addr().String()}
	t.Cleanup(f.end)
	return f
}

// ask sends "!" and returns all that comes until the end.
func (f *front) ask() (string, error) {
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("!")) // reading tells
	_ = conn.(*net.TCPConn).CloseWrite()
	text, err := io.ReadAll(conn)
	return string(text), err
}

func TestFrontTakesTurnsAndRefusesWithoutTargets(t *testing.T) {
	f, a, b := newFront(t, 0), answering(t), answering(t)
	if _, err := f.update([]string{a, b}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for range 10 {
		text, err := f.ask()
		if err != nil {
			t.Fatal(err)
		}
		seen[text]++
	}
	if seen[a+"!"] != 5 || seen[b+"!"] != 5 {
		t.Errorf("answers: %v", seen)
	}
	kept, err := net.Dial("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	hello := make([]byte, len(a))
	if _, err := io.ReadFull(kept, hello); err != nil {
		t.Fatal(err)
	}
	if _, err := f.update(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ask(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without targets: %v", err)
	}
	if _, err := kept.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(kept, hello[:1]); err != nil || hello[0] != 'x' {
		t.Errorf("a connection that was there: %q, %v", hello[:1], err)
	}
	if _, err := f.update([]string{a}); err != nil {
		t.Fatal(err)
	}
	if text, err := f.ask(); text != a+"!" {
		t.Errorf("again: %q, %v", text, err)
	}
}

func TestFrontResetsClientsOfATargetThatIsDown(t *testing.T) {
	f, down := newFront(t, 0), newFront(t, 0)
	if _, err := f.update([]string{down.address}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ask(); err == nil {
		t.Error("no error")
	}
}

func TestProxyDelayKeepsTargetsForAWhile(t *testing.T) {
	const delay = 200 * time.Millisecond
	f, a := newFront(t, delay), answering(t)
	if wait, err := f.update([]string{a}); wait != 0 || err != nil {
		t.Fatal(wait, err)
	}
	begin := time.Now()
	wait, err := f.update(nil)
	if err != nil || wait <= 0 || wait > delay {
		t.Fatalf("look again in %v (%v)", wait, err)
	}
	for {
		if wait, err = f.update(nil); err != nil {
			t.Fatal(err)
		}
		text, err := f.ask()
		if wait == 0 {
			if !errors.Is(err, syscall.ECONNREFUSED) || time.Since(begin) < delay {
				t.Errorf("after %v: %q, %v", time.Since(begin), text, err)
			}
			return
		}
		if text != a+"!" {
			t.Fatalf("after %v: %q, %v", time.Since(begin), text, err)
		}
		time.Sleep(10 * time.Millisecond) // not too many connections
	}
}
