package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// takeUp is how long API servers may take to go by a webhook configuration
// that was changed. They don't tell, and there may be several.
const takeUp = 2 * time.Second

// sent is what the webhook's configuration has API servers send, and since
// when.
type sent struct {
	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]sentKind
	// held is why it cannot be published now; empty: nothing is known to be in
	// the way.
	held string
}

type sentKind struct {
	scope scope
	since time.Time
}

// published takes in that the configuration is made of d.
func (s *sent) published(d *declared, now time.Time) {
	kinds := map[schema.GroupVersionKind]sentKind{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, set := range d.sets {
		k := sentKind{scopeOf(set), now}
		if before, ok := s.kinds[set.Kind]; ok && before.scope == k.scope {
			k.since = before.since
		}
		kinds[set.Kind] = k
	}
	s.kinds = kinds
}

// holdUp takes in why the configuration cannot be published; empty: it can.
// Nothing but Ready waits for it: objects are handled all the same.
func (s *sent) holdUp(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = why
}

// awaited tells what of d API servers may not send yet of a kind; empty:
// nothing. What a stamp would have done the controller makes up for, so only
// defaults wait until it has been taken up.
func (s *sent) awaited(d *declared, gvk schema.GroupVersionKind, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, set := range d.sets {
		if set.Kind != gvk {
			continue
		}
		k, ok := s.kinds[gvk]
		switch changed := !ok || k.scope != scopeOf(set); {
		case changed && s.held != "":
			return "the API server cannot be told what to send to admission: " + s.held
		case changed:
			return "the API server is about to be told what to send to admission"
		case len(set.Defaults) > 0 && now.Sub(k.since) < takeUp:
			return "the API server is taking up what to send to admission"
		}
	}
	return ""
}
