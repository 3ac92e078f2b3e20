package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
)

// raw listens on loopback and serves each connection by f.
func raw(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				f(c)
			}()
		}
	}()
	return l.Addr().String()
}

// plaintext is an Endpoint without TLS.
func plaintext(address string) Endpoint {
	return Endpoint{URL: "http://" + address, Plaintext: true, Timeout: patience}
}

// swallow reads a request up to the end of its header, and some.
func swallow(c net.Conn) { _, _ = c.Read(make([]byte, 1<<16)) }

func TestAnEndpointThatIsDown(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	want(t, run(t, handlerOf(t, plaintext(l.Addr().String()), loopback())), handler.Waiting, ReasonUnreachable, "connection refused")
}

func TestAnEndpointThatResets(t *testing.T) {
	t.Parallel()
	address := raw(t, func(c net.Conn) {
		swallow(c)
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	want(t, run(t, handlerOf(t, plaintext(address), loopback())), handler.Retrying, ReasonUnreachable, "connection reset")
}

func TestAnEndpointThatHangsUp(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"without an answer": "",
		"in the header":     "HTTP/1.1 200 OK\r\nContent-Type: te",
		"in the body":       "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
		"between chunks":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := raw(t, func(c net.Conn) {
				swallow(c)
				_, _ = io.WriteString(c, answer)
			})
			h := handlerOf(t, plaintext(address), loopback())
			want(t, run(t, h), handler.Retrying, ReasonUnreachable, "the connection ended before the answer did")
			if n := h.Gate().Health().Failures; n != 1 {
				t.Errorf("the gate counts %d failures: want 1", n)
			}
		})
	}
}

// TestWhatIsNoHTTPIsNotQuoted: an endpoint that sends back what it got must not
// get the object into an event.
func TestWhatIsNoHTTPIsNotQuoted(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"an echo": "", "an echo as a header": "HTTP/1.1 200 OK\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := raw(t, func(c net.Conn) {
				buffer := make([]byte, 1<<16)
				n, _ := c.Read(buffer)
				_, _ = io.WriteString(c, prefix)
				_, _ = c.Write(buffer[:n])
				_, _ = io.Copy(c, c)
			})
			got := run(t, handlerOf(t, plaintext(address), loopback()))
			want(t, got, handler.Retrying, ReasonUnreachable, "the answer is not valid HTTP")
			if strings.Contains(got.Message, "POST") {
				t.Errorf("the request is quoted: %s", got.Message)
			}
		})
	}
}

func TestAHeaderWithoutEndIsNotRead(t *testing.T) {
	t.Parallel()
	address := raw(t, func(c net.Conn) {
		swallow(c)
		_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for err == nil {
			_, err = io.WriteString(c, "X: "+strings.Repeat("x", 1000)+"\r\n")
		}
	})
	want(t, run(t, handlerOf(t, plaintext(address), loopback())), handler.Retrying, ReasonUnreachable, "exceeded")
}

func TestSwitchingProtocolsIsNoAnswer(t *testing.T) {
	t.Parallel()
	address := raw(t, func(c net.Conn) {
		swallow(c)
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	want(t, run(t, handlerOf(t, plaintext(address), loopback())), handler.Retrying, ReasonBadAnswer, "101")
}

func TestEachTimeout(t *testing.T) {
	t.Parallel()
	silent := raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	short := 50 * time.Millisecond
	for name, test := range map[string]struct {
		endpoint Endpoint
		outcome  handler.OutcomeKind
		text     string
	}{
		"of the TLS handshake": {Endpoint{URL: "https://" + silent, Timeout: patience, ConnectTimeout: short}, handler.Waiting, "TLS handshake timeout"},
		"of the header":        {Endpoint{URL: "http://" + silent, Plaintext: true, Timeout: patience, HeaderTimeout: short}, handler.Retrying, "timeout awaiting response headers"},
		"of the whole":         {Endpoint{URL: "http://" + silent, Plaintext: true, Timeout: short}, handler.Retrying, "no whole answer within 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, run(t, handlerOf(t, test.endpoint, loopback())), test.outcome, ReasonTimedOut, test.text)
		})
	}
}

// TestARedirectIsNotFollowed: not even one to the endpoint itself.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
	})
	got := run(t, handlerOf(t, to(server), loopback()))
	want(t, got, handler.Failed, ReasonRedirected, "the endpoint redirects (307 Temporary Redirect), which is never followed")
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls: want 1", n)
	}
}

func TestAStopOfTheProcessIsNoAttempt(t *testing.T) {
	t.Parallel()
	called := make(chan struct{})
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection goes unseen
		close(called)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-called; cancel() }()
	h := handlerOf(t, to(server), loopback())
	_, err := h.Run(ctx, request())
	if !errors.Is(err, context.Canceled) || !handler.Interrupted(ctx, err) {
		t.Errorf("got %v: want an attempt that counts for nothing", err)
	}
	if n := h.Gate().Health().Failures; n != 0 {
		t.Errorf("the gate counts %d failures: want 0", n)
	}
}

func TestTheTimeoutOfTheSpecIsATimeout(t *testing.T) {
	t.Parallel()
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	h := handlerOf(t, to(server), loopback())
	registration := handler.Registration{Spec: handler.Spec{Timeout: 50 * time.Millisecond}, Run: h.Run}
	result, err, _ := handler.Invoke(t.Context(), registration, request(), patience)
	want(t, handler.Classify(result, err, handler.RetryError), handler.Retrying, handler.ReasonTimedOut, "timed out after 50ms")
	if n := h.Gate().Health().Failures; n != 1 {
		t.Errorf("the gate counts %d failures: want 1", n)
	}
}

// TestAConnectionThatTheEndpointClosesIsNoError: a call on a kept connection
// that ends before an answer is repeated on a new one.
func TestAConnectionThatTheEndpointClosesIsNoError(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	h := handlerOf(t, to(server), loopback())
	for range 2 {
		want(t, run(t, h), handler.Succeeded, "", "")
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls: want 3", n)
	}
}
