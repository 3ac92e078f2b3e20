package controller

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/dogear-dev/dogear/storage"
)

// tracker knows where the handlers stand on all objects of an operator, and
// since when objects are unfinished.
type tracker struct {
	mu      sync.Mutex
	open    map[types.UID]time.Time
	counts  map[string]map[storage.State]int // by handler
	gone    map[string]bool                  // handlers of counts that are no more
	blocked map[*object]bool
}

func newTracker() *tracker {
	return &tracker{open: map[types.UID]time.Time{}, counts: map[string]map[storage.State]int{}, blocked: map[*object]bool{}}
}

// isGroup tells whether an ID is that of a group of handlers.
func isGroup(id string) bool { return strings.HasSuffix(id, "/") }

// note takes in where the handlers (ids) stand on o.
func (t *tracker) note(ids []string, o *object, states []storage.State, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Equal(ids, o.ids) {
		for i, id := range ids {
			if o.states[i] != states[i] {
				t.count(id, o.states[i], -1)
				t.count(id, states[i], 1)
			}
		}
	} else {
		for i, id := range o.ids {
			t.count(id, o.states[i], -1)
		}
		for i, id := range ids {
			t.count(id, states[i], 1)
		}
	}
	o.ids, o.states = ids, states
	open := slices.ContainsFunc(states, func(s storage.State) bool { return s != "" && !s.Finished() })
	if _, ok := t.open[o.uid]; !open {
		delete(t.open, o.uid)
	} else if !ok {
		t.open[o.uid] = now
	}
}

func (t *tracker) count(id string, state storage.State, n int) {
	if state == "" {
		return
	}
	if t.counts[id] == nil {
		t.counts[id] = map[storage.State]int{}
	}
	t.counts[id][state] += n
	if !isGroup(id) {
		objectStates.WithLabelValues(id, string(state)).Add(float64(n))
	}
	if t.gone[id] && t.counts[id][state] == 0 {
		t.clear(id, state)
	}
}

// block notes that the state of an object cannot be written, or can again.
func (t *tracker) block(o *object, blocked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if delete(t.blocked, o); blocked {
		t.blocked[o] = true
	}
}

func (t *tracker) clear(id string, state storage.State) {
	objectStates.DeleteLabelValues(id, string(state))
	if delete(t.counts[id], state); len(t.counts[id]) == 0 {
		delete(t.counts, id)
	}
}

// retire tells which of the handlers are no more. Their metrics go with the
// last object that they are counted on.
func (t *tracker) retire(there func(id string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = map[string]bool{}
	for id, counts := range t.counts {
		if there(id) || isGroup(id) {
			continue
		}
		t.gone[id] = true
		for state, n := range counts {
			if n == 0 {
				t.clear(id, state)
			}
		}
	}
}

// Counts tells on how many objects a handler stands where.
type Counts struct {
	Pending, Waiting, Retrying, Failed, Succeeded int
	// Blocked are those of all of these whose state cannot be written.
	Blocked int
}

// of returns the counts of a handler.
func (t *tracker) of(id string) Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.counts[id]
	c := Counts{
		Pending: n[storage.Pending], Waiting: n[storage.Waiting], Retrying: n[storage.Retrying],
		Failed: n[storage.Failed], Succeeded: n[storage.Succeeded],
	}
	for o := range t.blocked {
		if i := slices.Index(o.ids, id); i >= 0 && o.states[i] != "" {
			c.Blocked++
		}
	}
	return c
}

// oldest is for how long the object has been unfinished that has been longest.
func (t *tracker) oldest(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var longest time.Duration
	for since := range maps.Values(t.open) {
		longest = max(longest, now.Sub(since))
	}
	return longest
}
