package remote

import (
	"context"
	"errors"
	"net"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/dogear-dev/dogear/controller/handler"
)

// Shared is what the endpoints of a process have in common.
type Shared struct {
	// Guard decides what may be dialled.
	Guard Guard
	// Resolver finds Services; nil: endpoints have URLs only.
	Resolver *Resolver
	// DNS resolves the hosts of URLs. Default: net.DefaultResolver.
	DNS *net.Resolver
	// UserAgent is that of requests, such as "dogear/v1.2.3". Default: "dogear".
	UserAgent string
	// Clock is the time. Default: the real one.
	Clock clock.WithDelayedExecution
}

// Handler calls an endpoint.
type Handler struct {
	endpoint   Endpoint
	shared     Shared
	gate       *Gate
	line       *line
	target     string
	projection [][]string
}

// New returns a Handler for the endpoint, or what is wrong with that.
func New(endpoint Endpoint, shared Shared) (*Handler, error) {
	endpoint = endpoint.WithDefaults()
	if err := endpoint.Validate(); err != nil {
		return nil, err
	}
	if shared.Clock == nil {
		shared.Clock = clock.RealClock{}
	}
	if shared.UserAgent == "" {
		shared.UserAgent = "dogear"
	}
	target, err := endpoint.target()
	if err != nil {
		return nil, err
	}
	h := &Handler{endpoint: endpoint, shared: shared, gate: endpoint.Gate, target: target.String()}
	if h.projection, err = parseProjection(endpoint.Projection); err != nil {
		return nil, err
	}
	if h.gate == nil {
		h.gate = NewGate(Limits{}, shared.Clock)
	}
	h.line = &line{
		endpoint: endpoint, guard: shared.Guard, resolver: shared.Resolver, dns: shared.DNS,
		idle: h.gate.concurrency(),
	}
	return h, nil
}

// Gate is the gate of the endpoint, for handler.Registration.Gate.
func (h *Handler) Gate() *Gate { return h.gate }

// Close ends the connections that are not in use.
func (h *Handler) Close() { h.line.close() }

// Run calls the endpoint once; it is the Run of a handler.Registration, whose
// Spec.Timeout should be negative: a call has time-outs of its own, and what it
// waits for before is no fault of the endpoint. All errors are temporary or
// permanent, but that of a context which was ended by the caller.
func (h *Handler) Run(ctx context.Context, request *handler.RawRequest) (handler.Result, error) {
	pass, err := h.gate.enter(ctx)
	if err != nil {
		return shutOut(ctx, err)
	}
	var end ending
	defer func() { pass.leave(end.verdict, end.text) }()
	end = h.attempt(ctx, request)
	return end.result, end.err
}

// shutOut is what becomes of a call that the gate did not let through: no
// attempt, if it can be made later.
func shutOut(ctx context.Context, err error) (handler.Result, error) {
	var shut *closedError
	if !errors.As(err, &shut) {
		return handler.Result{}, err
	}
	logr.FromContextOrDiscard(ctx).V(1).Info("The endpoint is not called now", "reason", shut.reason, "why", shut.text)
	return handler.Result{Wait: &shut.after, Reason: shut.reason}, nil
}

// ending is what a call came to: for the engine, and for the gate.
type ending struct {
	result  handler.Result
	err     error
	verdict verdict
	text    string // with a verdict of failed
}

// errCallTimeout is the cause of a context that Endpoint.Timeout has ended.
var errCallTimeout = errors.New("the call's time-out")

// attempt makes a request, sends it and reads the answer.
func (h *Handler) attempt(ctx context.Context, request *handler.RawRequest) ending {
	callCtx, cancel := context.WithTimeoutCause(ctx, h.endpoint.Timeout, errCallTimeout)
	defer cancel()
	began := h.shared.Clock.Now()
	uid := NewNonce()
	answer, offered, err := h.exchange(callCtx, request, uid)
	switch {
	case err != nil && ctx.Err() != nil:
		return interrupted(ctx)
	case err != nil:
		return h.unanswered(callCtx, err)
	}
	end := h.read(ctx, request, uid, answer)
	if offered && end.result.Wait != nil {
		end.result.Completion = uid
	}
	logr.FromContextOrDiscard(ctx).V(1).Info("The endpoint has answered", "status", answer.status, "took", h.shared.Clock.Since(began).String())
	return end
}

// exchange makes the request and sends it; offered tells whether it has a callback.
func (h *Handler) exchange(ctx context.Context, request *handler.RawRequest, uid string) (a *answer, offered bool, err error) {
	body, offered, err := h.review(ctx, request, uid)
	if err != nil {
		return nil, false, &unready{err}
	}
	id := request.IdempotencyID
	if id == "" {
		id = uid
	}
	a, err = h.call(ctx, id, body)
	return a, offered, err
}
