package remote

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/go-logr/logr"
)

// What may be wrong with a callback whose token is authentic.
var (
	// ErrUnknown: there is no such object or handler any more.
	ErrUnknown = errors.New("there is no such object or handler")
	// ErrUsed: the token was used, or another attempt has begun since, or the
	// handler waits no more.
	ErrUsed = errors.New("the token was used already, or is that of an earlier attempt")
	// ErrConflict: it cannot be taken in at this moment, such as while the
	// handler runs.
	ErrConflict = errors.New("the handler is running: send it again")
	// ErrNotLeader: another process takes callbacks in.
	ErrNotLeader = errors.New("this process is not the leader: send it again")
)

// Reply is the body of the answer to a callback.
type Reply struct {
	// Code is the HTTP status.
	Code int `json:"code"`
	// Reason is a word for machines.
	Reason string `json:"reason"`
	// Message is a text for people.
	Message string `json:"message"`
}

// refusal is an error with an answer of its own.
type refusal struct {
	code            int
	reason, message string
}

func (e *refusal) Error() string { return e.message }

// retrySeconds is when to send a callback again that was not at fault.
const retrySeconds = "2"

// reply answers a callback.
func reply(w http.ResponseWriter, r *http.Request, err error) {
	answer := replyOf(err)
	if answer.Code == http.StatusInternalServerError {
		logr.FromContextOrDiscard(r.Context()).Error(err, "A callback could not be taken in")
	}
	if answer.Code >= 500 || answer.Code == http.StatusConflict {
		w.Header().Set("Retry-After", retrySeconds)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(answer.Code)
	_ = json.NewEncoder(w).Encode(answer) // to one who is gone
}

func replyOf(err error) Reply {
	var own *refusal
	switch {
	case err == nil:
		return Reply{http.StatusOK, "Taken", "the outcome was taken in"}
	case errors.As(err, &own):
		return Reply{own.code, own.reason, own.message}
	case errors.Is(err, ErrTokenForged):
		return Reply{http.StatusNotFound, "UnknownToken", ErrTokenForged.Error()}
	case errors.Is(err, ErrUnknown):
		return Reply{http.StatusNotFound, "Unknown", ErrUnknown.Error()}
	case errors.Is(err, ErrTokenExpired):
		return Reply{http.StatusGone, "Expired", ErrTokenExpired.Error()}
	case errors.Is(err, ErrUsed):
		return Reply{http.StatusGone, "Used", ErrUsed.Error()}
	case errors.Is(err, ErrConflict):
		return Reply{http.StatusConflict, "Conflict", ErrConflict.Error()}
	case errors.Is(err, ErrNotLeader):
		return Reply{http.StatusServiceUnavailable, "NotLeader", ErrNotLeader.Error()}
	}
	return Reply{http.StatusInternalServerError, "Error", "the outcome could not be taken in: send it again"}
}
