package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
)

// interrupted is a call that its caller has ended. Its error is plain, so that
// it counts as no attempt where the process stops.
func interrupted(ctx context.Context) ending {
	end := ending{err: fmt.Errorf("call the endpoint: %w", ctx.Err())}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		end.verdict, end.text = failed, "there was no answer in time"
	}
	return end
}

// askedNobody is when to try again what has reached nobody; the gate is closed
// for longer.
const askedNobody = time.Second

// unanswered is a call that got no answer. Where nobody has been asked it uses
// up no attempt, whatever the policy says: something is missing on Dogear's
// side, or there was no connection.
func (h *Handler) unanswered(ctx context.Context, err error) ending {
	var own *unready
	if errors.As(err, &own) {
		text := clean(own.Error())
		return ending{result: handler.Result{Wait: new(askedNobody), Reason: ReasonEndpointMissing, Message: text}, verdict: missing, text: text}
	}
	text, timedOut := h.explain(ctx, err)
	reason := ReasonUnreachable
	if timedOut {
		reason = ReasonTimedOut
	}
	var never *unconnected
	if errors.As(err, &never) {
		return ending{result: handler.Result{Wait: new(askedNobody), Reason: reason, Message: "there is no connection: " + text}, verdict: failed, text: text}
	}
	end := h.unclassified(ctx, "the call failed: "+text, reason, false, nil)
	end.verdict, end.text = failed, text
	return end
}

// read turns an answer into an outcome. A valid body decides; without one the
// HTTP status does. A body of a success that is not valid is no success: it may
// be the page of a proxy.
func (h *Handler) read(ctx context.Context, request *handler.RawRequest, uid string, a *answer) ending {
	after := a.after(h.shared.Clock.Now())
	bad := a.bad
	if bad == nil && len(a.body) > 0 {
		var response *v1alpha1.HandlerReviewResponse
		if response, bad = decode(a.body, uid); bad == nil {
			end := ending{verdict: answered}
			end.result, end.err = h.take(request, response, after)
			return end
		}
	}
	end := h.byStatus(ctx, a.status, after, bad)
	end.verdict = answered
	switch a.status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		end.verdict, end.text = failed, statusText(a.status)
	}
	return end
}

// take makes of a response what an SDK handler would have returned.
func (h *Handler) take(request *handler.RawRequest, response *v1alpha1.HandlerReviewResponse, after *time.Duration) (handler.Result, error) {
	if request.Patch == nil {
		request.Patch = &handler.Patch{}
	}
	if err := applyPatch(request.Patch, response.Patch); err != nil {
		*request.Patch = handler.Patch{}
		return handler.Result{}, badPatch(response, err)
	}
	return resultOf(response, after, h.endpoint.Poll)
}

// byStatus is the outcome of an answer without a valid body; bad tells why it
// has none, nil where it is empty.
func (h *Handler) byStatus(ctx context.Context, status int, after *time.Duration, bad error) ending {
	success := status >= 200 && status < 300
	switch {
	case status < 200, success && bad != nil:
		return h.unclassified(ctx, fmt.Sprintf("the answer (%s) is not a HandlerReview: %s", statusText(status), bad), ReasonBadAnswer, false, nil)
	case status == http.StatusAccepted:
		if after == nil {
			after = &h.endpoint.Poll
		}
		return ending{result: handler.Result{Wait: after}}
	case success:
		return ending{}
	case status < 400:
		return h.unclassified(ctx, fmt.Sprintf("the endpoint redirects (%s), which is never followed: name the place itself", statusText(status)), ReasonRedirected, true, nil)
	}
	message := "the endpoint answered " + statusText(status)
	if bad != nil {
		message += fmt.Sprintf("; the body is not a HandlerReview: %s", bad)
	}
	return h.unclassified(ctx, message, fmt.Sprintf("HTTP%d", status), !isTemporary(status), after)
}

func isTemporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// statusText is the status in our words: the endpoint's own may say anything.
func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return fmt.Sprintf("%d %s", status, text)
	}
	return fmt.Sprintf("HTTP status %d", status)
}

// unclassified is an error that the endpoint gave no outcome for, by the policy.
func (h *Handler) unclassified(ctx context.Context, message, reason string, permanent bool, after *time.Duration) ending {
	message = clean(message)
	switch {
	case h.endpoint.OnError == handler.IgnoreError:
		logr.FromContextOrDiscard(ctx).Info("An error of the endpoint counts as a success, as onError is Ignore", "reason", reason, "error", message)
		return ending{}
	case permanent, h.endpoint.OnError == handler.FailError:
		return ending{err: handler.Permanent(message, handler.Reason(reason))}
	case after != nil:
		return ending{err: handler.Temporary(message, handler.Reason(reason), handler.After(*after))}
	}
	return ending{err: handler.Temporary(message, handler.Reason(reason))}
}

// after is the delay that the header asks for; nil: none.
func (a *answer) after(now time.Time) *time.Duration {
	if delay, ok := retryAfter(a.header, now); ok {
		return &delay
	}
	return nil
}
