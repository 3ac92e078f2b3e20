package webhook

import (
	"errors"
	"io"
	"net/http"

	"golang.org/x/sync/semaphore"
)

// firstRead is what a body may take before any of it has arrived. A client that
// only promises a large body holds no more than this.
const firstRead = 64 << 10

var (
	tooLarge = &refusal{
		status: http.StatusRequestEntityTooLarge, decision: DecisionTooLarge, text: "the body is too large",
	}
	busy = &refusal{
		status: http.StatusTooManyRequests, decision: DecisionBusy, retry: true,
		text: "too many admission requests are under way, try again",
	}
	draining = &refusal{
		status: http.StatusTooManyRequests, decision: DecisionDraining, retry: true,
		text: "this replica is stopping, try again",
	}
)

// reservation is a share of the bytes that all bodies together may take.
type reservation struct {
	total *semaphore.Weighted
	held  int64
}

// growTo never waits: bodies that wait for each other's memory could do so
// until all of them time out.
func (r *reservation) growTo(size int64) bool {
	if size <= r.held {
		return true
	}
	if !r.total.TryAcquire(size - r.held) {
		return false
	}
	r.held = size
	return true
}

func (r *reservation) release() {
	r.total.Release(r.held)
	r.held = 0
}

// readBody reads a whole body of at most limit bytes. What it takes is reserved
// as it arrives, by doubling; the caller releases the reservation.
func readBody(r *http.Request, limit int64, reserved *reservation) ([]byte, *refusal) {
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	most := limit + 1 // room to see the end without growing
	if r.ContentLength >= 0 {
		most = r.ContentLength + 1
	}
	size := min(firstRead, most)
	if !reserved.growTo(size) {
		return nil, busy
	}
	body := make([]byte, 0, size)
	for {
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, tooLarge
		case int64(len(body)) == most:
			return nil, invalid("the body is longer than announced")
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, invalid("the body did not arrive whole")
		}
		if len(body) < cap(body) {
			continue
		}
		size = min(2*int64(cap(body)), most)
		if !reserved.growTo(size) {
			return nil, busy
		}
		body = append(make([]byte, 0, size), body...)
	}
}
