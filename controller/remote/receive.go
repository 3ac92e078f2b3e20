package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"k8s.io/utils/clock"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
)

// receiveTimeout is how long a callback may take to arrive.
const receiveTimeout = 30 * time.Second

// Completion is an outcome that an endpoint has sent later.
type Completion struct {
	// Token is authentic and has not expired. Whether it was used already, or
	// another attempt has come since, is for Complete to find out by its Nonce.
	Token Token
	// Result and Err are what an SDK handler would have returned.
	Result handler.Result
	Err    error
	// Patch is written with the outcome.
	Patch *handler.Patch
}

// Receiver takes in callbacks: POST /callback/{token} with a HandlerReview that
// has a response.
type Receiver struct {
	// TokenKeys authenticate tokens.
	TokenKeys TokenKeySource
	// KeysOf returns the signing keys of the token's handler; none: callbacks
	// need no signature, as the token is known to the endpoint alone.
	KeysOf func(context.Context, Token) ([]Key, error)
	// Complete takes the outcome in. Its error decides the answer: ErrUnknown,
	// ErrUsed, ErrConflict and ErrNotLeader have codes of their own.
	Complete func(context.Context, Completion) error
	// Poll is when to call again after Waiting without a delay. Default: 30 s.
	Poll time.Duration
	// Clock is the time. Default: the real one.
	Clock clock.PassiveClock
}

// Mount adds the route.
func (rc *Receiver) Mount(router chi.Router) { router.Post("/callback/{token}", rc.ServeHTTP) }

// ServeHTTP takes in one callback. The token is checked before anything is read.
func (rc *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(receiveTimeout)) // where there is one
	completion, err := rc.receive(w, r)
	if err == nil {
		err = rc.Complete(r.Context(), completion)
	}
	reply(w, r, err)
}

func (rc *Receiver) receive(w http.ResponseWriter, r *http.Request) (Completion, error) {
	now := time.Now
	if rc.Clock != nil {
		now = rc.Clock.Now
	}
	tokenKeys, err := rc.TokenKeys(r.Context())
	if err != nil {
		return Completion{}, err
	}
	token, err := Verify(tokenKeys, chi.URLParam(r, "token"), now())
	if err != nil {
		return Completion{}, err
	}
	body, err := readCallback(w, r)
	if err != nil {
		return Completion{}, err
	}
	if rc.KeysOf != nil {
		keys, err := rc.KeysOf(r.Context(), token)
		if err != nil {
			return Completion{}, err
		}
		if len(keys) > 0 {
			if err := verify(r.Header, keys, now(), body); err != nil {
				return Completion{}, &refusal{http.StatusUnauthorized, "NotSigned", err.Error()}
			}
		}
	}
	response, err := decode(body, token.Nonce)
	if err != nil {
		return Completion{}, &refusal{http.StatusBadRequest, ReasonBadAnswer, "the body is not a HandlerReview: " + err.Error()}
	}
	return rc.completion(token, response), nil
}

func (rc *Receiver) completion(token Token, response *v1alpha1.HandlerReviewResponse) Completion {
	poll := rc.Poll
	if poll <= 0 {
		poll = DefaultPoll
	}
	c := Completion{Token: token, Patch: &handler.Patch{}}
	if err := applyPatch(c.Patch, response.Patch); err != nil {
		c.Patch, c.Err = &handler.Patch{}, badPatch(response, err)
		return c
	}
	c.Result, c.Err = resultOf(response, nil, poll)
	return c
}

// readCallback reads the body, with the same bounds as that of an answer.
func readCallback(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return nil, &refusal{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "want Content-Type application/json"}
		}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, &refusal{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "want no Content-Encoding"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxAnswer))
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return nil, &refusal{http.StatusRequestEntityTooLarge, "TooLarge", fmt.Sprintf("want at most %d bytes", MaxAnswer)}
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, ReasonBadAnswer, "the body did not arrive"}
	}
	return body, nil
}
