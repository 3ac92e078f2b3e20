package remote

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// readTimeout is how long one read may take: others wait for it.
const readTimeout = 5 * time.Second

// cache keeps what is read from the API server for a short time, errors
// included, so that many calls cost few reads. A value outlives its time while
// it cannot be read again for a reason that says nothing about it.
type cache[K comparable, V any] struct {
	clock clock.PassiveClock
	ttl   time.Duration
	// stale is how long a value counts although it cannot be read again.
	stale time.Duration
	read  func(context.Context, K) (V, error)
	// gone tells whether an error says that there is no such thing any more.
	gone func(error) bool

	mu      sync.Mutex
	entries map[K]*entry[V]
}

type entry[V any] struct {
	mu    sync.Mutex // held while reading: one read serves all
	value V
	err   error
	tried time.Time // zero: never
	known time.Time // when value was read; zero: never
	used  time.Time // guarded by cache.mu
}

func (c *cache[K, V]) get(ctx context.Context, key K) (V, error) {
	e := c.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := c.clock.Now()
	if !e.tried.IsZero() && now.Sub(e.tried) < c.ttl {
		return e.value, e.err
	}
	readCtx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	value, err := c.read(readCtx, key)
	if err != nil && ctx.Err() != nil {
		return value, err // says nothing
	}
	e.tried = c.clock.Now()
	switch {
	case err == nil:
		e.value, e.err, e.known = value, nil, now
	case c.gone(err) || e.known.IsZero() || now.Sub(e.known) > c.stale:
		e.value, e.err, e.known = value, err, time.Time{}
	}
	return e.value, e.err
}

// entry finds the entry of a key, and forgets those that nobody has asked for
// in a long time.
func (c *cache[K, V]) entry(key K) *entry[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	e, ok := c.entries[key]
	if !ok {
		for old, o := range c.entries {
			if now.Sub(o.used) > c.stale+c.ttl {
				delete(c.entries, old)
			}
		}
		if c.entries == nil {
			c.entries = map[K]*entry[V]{}
		}
		e = &entry[V]{}
		c.entries[key] = e
	}
	e.used = now
	return e
}
