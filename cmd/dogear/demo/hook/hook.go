// Package hook is the endpoint of the demo: what a team would write, in any
// language, to act on Certificates and Services that others own.
//
// Nothing outside of the process is called: where a real endpoint would ask a
// certificate authority or a DNS server, this one counts attempts and waits.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// Times of the handlers, for people who watch.
const (
	RetryAfter = 1500 * time.Millisecond // that the certificate authority asks to wait
	WarmUpTime = 4 * time.Second         // that the slow handler takes
	DrainTime  = 1500 * time.Millisecond // that a DNS record is answered after its end
)

// Domain is where the names of a Certificate must lie.
const Domain = "example.com"

type (
	request  = v1alpha1.HandlerReviewRequest
	response = v1alpha1.HandlerReviewResponse
)

// handlers are what the endpoint does, by the ID of the handler that calls.
var handlers = map[string]func(context.Context, *request) *response{
	"policy": policy, "provision": provision, "dns": dns, "warm-up": warmUp,
}

// maxRequest is more than any object has.
const maxRequest = 8 << 20

// New returns the endpoint. It takes requests that are signed with the key.
func New(key string) (http.Handler, error) {
	signatures, err := standardwebhooks.NewWebhook(key)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			http.Error(w, "the request did not arrive", http.StatusBadRequest)
			return
		}
		if err := signatures.Verify(body, r.Header); err != nil {
			http.Error(w, "the request is not signed by Dogear", http.StatusUnauthorized)
			return
		}
		review := &v1alpha1.HandlerReview{}
		if err := json.Unmarshal(body, review); err != nil || review.Request == nil || handlers[review.Request.Handler.ID] == nil {
			http.Error(w, "no HandlerReview for this endpoint", http.StatusBadRequest)
			return
		}
		answer := handlers[review.Request.Handler.ID](r.Context(), review.Request)
		answer.UID = review.Request.UID
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v1alpha1.HandlerReview{TypeMeta: review.TypeMeta, Response: answer}) // to one who is gone
	}), nil
}

// policy fails for good where a name lies elsewhere: another attempt would end
// the same way. It is due again as soon as somebody changes the Certificate.
func policy(_ context.Context, r *request) *response {
	var certificate struct {
		Spec struct {
			DNSNames []string `json:"dnsNames"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.Object, &certificate); err != nil {
		return &response{Outcome: v1alpha1.OutcomeFailed, Reason: "Undecodable", Message: err.Error()}
	}
	for _, name := range certificate.Spec.DNSNames {
		if name != Domain && !strings.HasSuffix(name, "."+Domain) {
			return &response{
				Outcome: v1alpha1.OutcomeFailed, Reason: "NameNotAllowed", Message: fmt.Sprintf("%q is not below %s", name, Domain),
				Status: payload(map[string]any{"allowed": false, "name": name}),
			}
		}
	}
	return &response{Outcome: v1alpha1.OutcomeSucceeded, Status: payload(map[string]any{"allowed": true})}
}

// provision succeeds once the certificate authority has issued.
func provision(_ context.Context, r *request) *response {
	if r.Attempt <= 2 {
		return &response{
			Outcome: v1alpha1.OutcomeRetrying, Reason: "NotIssued", Message: "the authority is not done yet",
			After: &v1alpha1.Duration{Duration: RetryAfter}, Status: payload(map[string]any{"phase": "Pending", "attempt": r.Attempt}),
		}
	}
	return &response{Outcome: v1alpha1.OutcomeSucceeded, Status: payload(map[string]any{"phase": "Ready"})}
}

// dns publishes a record for a Service. On deletion it drains the record before
// it takes it away; the finalizer that Dogear puts on the Service holds it until
// then. The handler's own last payload tells how far it is.
func dns(_ context.Context, r *request) *response {
	if r.Cause != v1alpha1.CauseDelete {
		return &response{Outcome: v1alpha1.OutcomeSucceeded, Status: payload(map[string]any{"record": "Published"})}
	}
	var last struct {
		Record string `json:"record"`
	}
	if own := r.Payloads[r.Handler.Set+"/"+r.Handler.ID]; own != nil {
		if err := json.Unmarshal(own, &last); err != nil {
			return &response{Outcome: v1alpha1.OutcomeRetrying, Message: err.Error()}
		}
	}
	if last.Record == "Draining" {
		return &response{Outcome: v1alpha1.OutcomeSucceeded}
	}
	return &response{ // not done yet; this uses up no attempt
		Outcome: v1alpha1.OutcomeWaiting, Reason: "Draining", After: &v1alpha1.Duration{Duration: DrainTime},
		Status: payload(map[string]any{"record": "Draining"}),
	}
}

// warmUp takes its time. Other objects, and other handlers' outcomes on the same
// object, don't wait for it.
func warmUp(ctx context.Context, _ *request) *response {
	select {
	case <-time.After(WarmUpTime):
		return &response{Outcome: v1alpha1.OutcomeSucceeded, Status: payload(map[string]any{"warmed": 100})}
	case <-ctx.Done(): // a time-out, or Dogear stops
		return &response{Outcome: v1alpha1.OutcomeRetrying, Message: "interrupted"}
	}
}

func payload(members map[string]any) json.RawMessage {
	text, err := json.Marshal(members)
	if err != nil {
		panic(err) // it is made of text and numbers
	}
	return text
}
