package sets

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// askTimeout bounds a question to the API server.
	askTimeout = 5 * time.Second
	// askPatience is how long the sets wait for an answer, all of them: one that
	// takes longer is taken in when it comes. A question that was not answered in
	// time before is not waited for at all.
	askPatience = time.Second
)

// errUnanswered says that the API server has not answered yet.
var errUnanswered = errors.New("there is no answer yet")

// question is one that the API server is asked time and again. It has at most
// one answer under way.
type question[T any] struct {
	ask   func(context.Context) (T, error)
	clock clock.PassiveClock
	// late is called when an answer has come that was not waited for; nil: nothing is.
	late func()

	mu      sync.Mutex
	last    answer[T]
	waiting chan struct{} // closed when the answer comes; nil: it is not asked
	slow    bool
}

// answer is the last one.
type answer[T any] struct {
	value T
	err   error
	at    time.Time // zero: there is none
}

// get returns the last answer if it is fresh, and else asks.
func (q *question[T]) get(ctx context.Context, fresh func(a answer[T], age time.Duration) bool) answer[T] {
	q.mu.Lock()
	last, slow := q.last, q.slow
	if !last.at.IsZero() && fresh(last, q.clock.Since(last.at)) {
		q.mu.Unlock()
		return last
	}
	if q.waiting == nil {
		q.waiting = make(chan struct{})
		go q.put(ctx)
	}
	waiting := q.waiting
	q.mu.Unlock()
	if !slow {
		patience := time.NewTimer(askPatience)
		defer patience.Stop()
		select {
		case <-waiting:
		case <-ctx.Done():
		case <-patience.C:
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-waiting:
	default:
		q.slow = true
		if q.last.at.IsZero() {
			return answer[T]{err: errUnanswered}
		}
	}
	return q.last
}

// put asks, and takes the answer in. Its age counts from when it came.
func (q *question[T]) put(ctx context.Context) {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	value, err := q.ask(bounded)
	q.mu.Lock()
	missed := q.slow
	q.last = answer[T]{value, err, q.clock.Now()}
	q.slow = time.Since(began) >= askPatience
	close(q.waiting)
	q.waiting = nil
	q.mu.Unlock()
	if missed && err == nil && q.late != nil {
		q.late()
	}
}
