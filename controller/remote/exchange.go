package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"

	"github.com/go-logr/logr"
)

// MaxAnswer bounds the body of an answer in bytes.
const MaxAnswer = 1 << 20

// answer is what came back over HTTP.
type answer struct {
	status int
	header http.Header
	body   []byte // without space around it
	bad    error  // why the body cannot be read, though it came
}

// unready is an error on Dogear's side of a call.
type unready struct{ err error }

func (e *unready) Error() string { return e.err.Error() }

// unconnected is the error of a call that nobody can have heard of: there was no
// connection to send it on.
type unconnected struct{ error }

func (e *unconnected) Unwrap() error { return e.error }

// call posts a body and reads the answer.
func (h *Handler) call(ctx context.Context, id string, body []byte) (*answer, error) {
	transport, err := h.line.get(ctx)
	if err != nil {
		return nil, &unready{err}
	}
	request, err := h.post(ctx, id, body)
	if err != nil {
		return nil, &unready{err}
	}
	logr.FromContextOrDiscard(ctx).V(1).Info("Calling the endpoint", "traceparent", request.Header.Get("traceparent"), "bytes", len(body))
	connected := false
	response, err := transport.RoundTrip(request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected = true }, // in this goroutine
	}))) // no http.Client: it would follow redirects
	switch {
	case err != nil && !connected:
		return nil, &unconnected{err}
	case err != nil:
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	a := &answer{status: response.StatusCode, header: response.Header}
	switch encoding := response.Header.Get("Content-Encoding"); {
	case response.StatusCode < 200: // 101: there is no body, but a connection
		a.bad = fmt.Errorf("status %d is no answer to a POST", response.StatusCode)
		return a, nil
	case encoding != "" && encoding != "identity":
		a.bad = fmt.Errorf("its Content-Encoding is %q: want none", brief(encoding))
		return a, nil
	case response.ContentLength > MaxAnswer:
		a.bad = errTooLong
		return a, nil
	}
	a.body, err = io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(a.body) > MaxAnswer {
		a.body, a.bad = nil, errTooLong
	}
	a.body = bytes.TrimSpace(a.body)
	return a, nil
}

var errTooLong = errors.New("it is longer than 1 MiB")

// post makes the request.
func (h *Handler) post(ctx context.Context, id string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	header := request.Header
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	header.Set("Accept-Encoding", "identity")
	header.Set("User-Agent", h.shared.UserAgent)
	header.Set("Traceparent", traceparentOf(ctx))
	// Not sent: it lets the transport repeat a request on a new connection when
	// it met one that the endpoint was about to close. The webhook-id is the same.
	header["X-Idempotency-Key"] = nil
	var keys []Key
	if h.endpoint.Keys != nil {
		if keys, err = h.endpoint.Keys(ctx); err != nil {
			return nil, err
		}
	}
	return request, sign(header, keys, id, h.shared.Clock.Now(), body)
}

// explain says in words why there was no answer, and whether time ran out. It
// quotes nothing that may have come from the request.
func (h *Handler) explain(ctx context.Context, err error) (text string, timedOut bool) {
	var timeout net.Error
	switch {
	case errors.Is(context.Cause(ctx), errCallTimeout):
		return fmt.Sprintf("there was no whole answer within %s", h.endpoint.Timeout), true
	case errors.As(err, &timeout) && timeout.Timeout():
		return "there was no answer in time: " + clean(err.Error()), true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before the answer did", false
	case strings.Contains(err.Error(), "malformed"), strings.Contains(err.Error(), "readLoopPeekFail"): // it came too early
		return "the answer is not valid HTTP", false
	}
	return clean(err.Error()), false
}
