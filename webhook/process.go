package webhook

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// maxPatience is the longest timeout that a webhook configuration can have.
const maxPatience = 30 * time.Second

// answering returns what answers with the decisions of an admitter.
func (s *Server) answering(admitter Admitter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, admitter) }
}

// answer answers one admission request, counts it and times it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, admitter Admitter) {
	began := time.Now()
	operation, decision := "unknown", DecisionPanic
	body, refused := s.process(r, admitter, &operation, &decision)
	s.options.Metrics.observe(operation, decision, time.Since(began))
	if refused != nil {
		refused.write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// process makes the body of the answer. It keeps no memory beyond its return,
// and turns a panic of the admitter into a refusal.
func (s *Server) process(r *http.Request, admitter Admitter, operation, decision *string) (answer []byte, refused *refusal) {
	defer func() {
		if fault := recover(); fault != nil {
			s.logPanic(fault)
			refused = failed(DecisionPanic)
		}
		if refused != nil {
			*decision = refused.decision
		}
	}()
	if s.refusing.Load() {
		return nil, draining
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &refusal{
			status: http.StatusUnsupportedMediaType, decision: DecisionInvalid, text: "the content type must be application/json",
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	defer cancel()
	reserved := &reservation{total: s.bytes}
	defer reserved.release()
	body, refused := readBody(r, s.options.MaxBody, reserved)
	if refused != nil {
		return nil, refused
	}
	// A turn is taken once the body is there: a slow client holds up nobody.
	if !s.takeTurn(ctx) {
		return nil, busy
	}
	defer func() { <-s.turns }()
	request, refused := decodeReview(body)
	if refused != nil {
		return nil, refused
	}
	*operation = string(request.Operation)
	return s.decide(ctx, admitter, request, decision)
}

// decide asks the admitter.
func (s *Server) decide(ctx context.Context, admitter Admitter, request *admissionv1.AdmissionRequest, decision *string) ([]byte, *refusal) {
	answer := admitter.Admit(ctx, request)
	if answer.Response == nil {
		return nil, failed(DecisionNoAnswer)
	}
	body, err := encodeReview(request, answer.Response)
	if err != nil {
		return nil, failed(DecisionNoAnswer)
	}
	if *decision = answer.Decision; *decision == "" {
		*decision = "none"
	}
	return body, nil
}

// takeTurn waits at most MaxWait.
func (s *Server) takeTurn(ctx context.Context) bool {
	select {
	case s.turns <- struct{}{}:
		return true
	default:
	}
	if s.options.MaxWait < 0 {
		return false
	}
	wait := time.NewTimer(s.options.MaxWait)
	defer wait.Stop()
	select {
	case s.turns <- struct{}{}:
		return true
	case <-wait.C:
		return false
	case <-ctx.Done():
		return false
	}
}

// logPanic logs where, and what only if the Go runtime wrote it: any other value
// can hold a piece of the object.
func (s *Server) logPanic(fault any) {
	err, ok := fault.(runtime.Error)
	if !ok {
		s.options.Log.Error(nil, "Panic in an admission request", "type", fmt.Sprintf("%T", fault), "stack", string(debug.Stack()))
		return
	}
	s.options.Log.Error(err, "Panic in an admission request", "stack", string(debug.Stack()))
}

func failed(decision string) *refusal {
	return &refusal{
		status: http.StatusInternalServerError, decision: decision, text: "the admission request could not be decided, see the log",
	}
}

// patience is how long the API server waits, which it says in the query.
func patience(r *http.Request) time.Duration {
	asked, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || asked <= 0 || asked > maxPatience {
		return maxPatience
	}
	return asked
}
