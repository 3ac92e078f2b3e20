package remote

import (
	"encoding/json"
	"time"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
)

// minDelay keeps an endpoint that asks to be called again at once from being
// called without pause. 0 is no delay, as in Retry-After.
const minDelay = 100 * time.Millisecond

// Texts of errors for which the endpoint has none.
const (
	noRetryMessage = "the endpoint asks for another attempt and gives no message"
	noFailMessage  = "the endpoint has failed this for good and gives no message"
)

// resultOf is what an SDK handler would have returned. fallback is the delay
// where the response names none; nil: the back-off, or poll while waiting.
func resultOf(r *v1alpha1.HandlerReviewResponse, fallback *time.Duration, poll time.Duration) (handler.Result, error) {
	payload := payloadOf(r)
	after := fallback
	if r.After != nil {
		if capped := min(r.After.Duration, MaxDelay); capped > 0 {
			capped = max(capped, minDelay)
			after = &capped
		}
	}
	switch r.Outcome {
	case v1alpha1.OutcomeSucceeded:
		return handler.Result{Status: payload, Reason: r.Reason}, nil
	case v1alpha1.OutcomeWaiting:
		if after == nil {
			after = &poll
		}
		return handler.Result{Status: payload, Reason: r.Reason, Message: clean(r.Message), Wait: after}, nil
	}
	options := []handler.Option{handler.Reason(r.Reason), handler.Status(payload)}
	message := clean(r.Message)
	if r.Outcome == v1alpha1.OutcomeFailed {
		return handler.Result{}, handler.Permanent(either(message, noFailMessage), options...)
	}
	if after != nil {
		options = append(options, handler.After(*after))
	}
	return handler.Result{}, handler.Temporary(either(message, noRetryMessage), options...)
}

// payloadOf is the payload; null is none.
func payloadOf(r *v1alpha1.HandlerReviewResponse) any {
	if len(r.Status) == 0 || string(r.Status) == "null" {
		return nil
	}
	return r.Status
}

func either(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// applyPatch adds the changes that a response asks for. What cannot be asked
// for fails the handler for good, as in the SDK.
func applyPatch(p *handler.Patch, from *v1alpha1.HandlerReviewPatch) error {
	if from == nil {
		return nil
	}
	each(from.Labels, p.SetLabel, p.RemoveLabel)
	each(from.Annotations, p.SetAnnotation, p.RemoveAnnotation)
	for name, value := range from.Spec {
		if err := p.SetSpec(plain(value), name); err != nil {
			return err
		}
	}
	for name, value := range from.Fields {
		if err := p.SetField(plain(value), name); err != nil {
			return err
		}
	}
	return nil
}

func each(values map[string]*string, set func(key, value string), remove func(key string)) {
	for key, value := range values {
		if value == nil {
			remove(key)
		} else {
			set(key, *value)
		}
	}
}

// plain is the value for a patch: null, which removes, is nil.
func plain(value json.RawMessage) any {
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	return value
}

// badPatch is what the SDK makes of a patch that is refused: a failure for good
// that keeps the payload.
func badPatch(r *v1alpha1.HandlerReviewResponse, err error) error {
	return handler.Permanent(clean(err.Error()), handler.Reason(handler.ReasonBadPatch), handler.Status(payloadOf(r)))
}
