package remote

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestNothingIsLeftBehind: after calls of all kinds and Close there are no
// connections and no goroutines of theirs. It runs alone.
func TestNothingIsLeftBehind(t *testing.T) {
	endpoints := map[string]http.HandlerFunc{
		"success":  answering(`{"uid":"UID","outcome":"Succeeded"}`),
		"empty":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"too long": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 4<<20)) },
		"error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "x")
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) },
		"packed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "x")
		},
		"reset":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"silence": func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() },
	}
	for name, f := range endpoints {
		open := &connections{}
		server := serve(t, f, open.follow)
		e := to(server)
		if name == "silence" {
			e.Timeout = 20 * time.Millisecond
		}
		h := handlerOf(t, e, loopback())
		for range 10 {
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() { run(t, h) })
			}
			group.Wait()
		}
		h.Close()
		until(t, name+": all connections are closed", func() bool { return open.count() == 0 })
		server.Close()
	}
	until(t, "all goroutines have ended", func() bool { return len(leaked()) == 0 })
}

// connections counts those that a server has.
type connections struct {
	mu  sync.Mutex
	all map[net.Conn]bool
}

func (c *connections) follow(server *http.Server) {
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.all == nil {
			c.all = map[net.Conn]bool{}
		}
		if c.all[conn] = true; state == http.StateClosed || state == http.StateHijacked {
			delete(c.all, conn)
		}
	}
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

// leaked are the goroutines of this package or of an HTTP client.
func leaked() (all []string) {
	buffer := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")[1:] {
		if strings.Contains(stack, "net/http.(*persistConn)") || strings.Contains(stack, "remote.(*Gate)") || strings.Contains(stack, "remote.(*Handler)") {
			all = append(all, stack)
		}
	}
	return all
}
