package uninstall

import (
	"fmt"
	"sync"
	"time"

	"github.com/dogear-dev/dogear/controller/installation"
)

// Event is a piece of news of a run.
type Event struct {
	// Text says what has happened; empty while objects are gone through.
	Text string `json:"text,omitempty"`
	// Resource is that whose objects are gone through, as
	// certificates.cert-manager.io.
	Resource string `json:"resource,omitempty"`
	// Released is on how many objects something was taken off so far, Seen how
	// many were looked at, and Total of how many. Objects that come or go
	// meanwhile make it an estimate.
	Released int `json:"released,omitempty"`
	Seen     int `json:"seen,omitempty"`
	Total    int `json:"total,omitempty"`
}

// String is the event in words, on one line.
func (e Event) String() string {
	if e.Text != "" {
		return installation.Printable(e.Text)
	}
	return fmt.Sprintf("%s: %d released, %d of %d looked at", e.Resource, e.Released, e.Seen, e.Total)
}

// paceEvery is the least time between two events about one resource.
const paceEvery = time.Second

// pace counts while objects of a resource are gone through, and tells now and then.
type pace struct {
	report func(Event)

	mu   sync.Mutex
	now  Event
	told time.Time
}

func (p *pace) count(change func(*Event)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.now)
	if now := time.Now(); now.Sub(p.told) >= paceEvery {
		p.told = now
		p.report(p.now)
	}
}
